// SPDX-License-Identifier: MIT
// The kernel's counterpart of the benchmarked tree: the same 1,000 mounts, of tmpfs, in a private mount namespace.
#pragma once

namespace unmoor::bench {

// Moves this process to such a namespace, its working directory being the top of the mounts. Where the machine forbids
// it nothing happens.
void make_kernel_mounts();
[[nodiscard]] bool has_kernel_mounts();

}  // namespace unmoor::bench
