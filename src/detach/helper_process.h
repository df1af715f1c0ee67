// SPDX-License-Identifier: MIT
// Starts the helper (helper/helper.cpp): vfork and execveat from a sealed memory file.
#pragma once

#include <sys/types.h>

#include "detach/target.h"
#include "kernel/error.h"
#include "kernel/system_calls.h"
#include "kernel/unique_fd.h"

namespace unmoor::detach {

// A running helper. It is a child of the calling thread's process, exit signal SIGCHLD: execve sets that, whatever
// clone asked for.
struct HelperProcess {
  pid_t pid = 0;
  kernel::UniqueFd pidfd;
};

// `token`: an eventfd with the value 1; the helper makes its call only if it can read it. All signals must be blocked.
// Errors: those of memfd_create(2), clone(2), execveat(2): nothing was started.
[[nodiscard]] Result<HelperProcess> start_helper(const kernel::SystemCalls& calls, const Target& target,
                                                 const kernel::MountId& id, int token, int umount_flags);

}  // namespace unmoor::detach
