// SPDX-License-Identifier: MIT
// What a type of filesystem says about its superblock's shutdown. Closed lists: an unknown type is in none of them.
#pragma once

#include "kernel/mount_table.h"

namespace unmoor::kernel {

// Its shutdown touches nothing that somebody could wait for: no device, no server, no namespace that owns mounts, no
// reserved memory. A tmpfs is in it whatever it holds: whoever asks looks at how much that is.
[[nodiscard]] bool shuts_down_unseen(const MountEntry& mount) noexcept;

// Looking up a name in it never waits for anything but this machine.
[[nodiscard]] bool looks_up_locally(const MountEntry& mount) noexcept;

}  // namespace unmoor::kernel
