// SPDX-License-Identifier: MIT
// What an unmount takes with it: the mounts below, and those that propagation reaches in this and other namespaces.
#pragma once

#include <vector>

#include "kernel/error.h"
#include "kernel/mount_table.h"
#include "kernel/system_calls.h"

namespace unmoor::detach {

// `top` and everything mounted below it, in no particular order.
[[nodiscard]] std::vector<const kernel::MountEntry*> mounts_below(const kernel::MountTable& table,
                                                                  const kernel::MountEntry& top);

struct ReachedMount {
  kernel::DeviceNumber device;
  bool shuts_down_unseen;
  bool is_tmpfs;
};

// Mounts at the place of `mount` on every mount that receives propagation from its parent, in all namespaces that have
// a task: more than the kernel removes, never less. Namespaces that only a descriptor keeps alive are not seen.
// Errors: a namespace that may not be read, or one kept by a mounted file.
[[nodiscard]] Result<std::vector<ReachedMount>> propagated_removals(const kernel::SystemCalls& calls,
                                                                    const kernel::MountTable& own,
                                                                    const kernel::MountEntry& mount);

}  // namespace unmoor::detach
