// SPDX-License-Identifier: MIT
// The mount that umount2(path) would take, named so that another process can take exactly that one.
#pragma once

#include <string>

#include "kernel/error.h"
#include "kernel/mount_id.h"
#include "kernel/unique_fd.h"

namespace unmoor::detach {

// `entry` in `parent` leads to the top of the stack of mounts there, and that top is `id`. Holding `parent` pins the
// mount that the directory is in, so it is let go before detach_one returns.
struct Target {
  kernel::UniqueFd parent;
  std::string entry;
  kernel::MountId id;
};

// Errors: whatever lookup says; EINVAL when the path leads to no mount's root; EOPNOTSUPP before Linux 5.8. In each
// case the plain call has the right answer.
[[nodiscard]] Result<Target> name_target(const kernel::SystemCalls& calls, const char* path, int umount_flags);

}  // namespace unmoor::detach
