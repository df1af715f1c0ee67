// SPDX-License-Identifier: MIT
// Where this process stands: its mount namespace compared with process 1's, its cgroups compared with its parent's.
#pragma once

#include <functional>
#include <string>
#include <sys/types.h>
#include <vector>

#include "kernel/error.h"
#include "kernel/mount_table.h"
#include "kernel/system_calls.h"

namespace unmoor::kernel {

// True only if it is known: the same namespace link, or, where that may not be read, the same mount ids.
[[nodiscard]] bool shares_mount_namespace_with_pid1(const SystemCalls& calls, const MountTable& own);

// Whether `own`, the calling thread's table, shows every mount of its namespace: a table read in a chroot does not.
// Needs listmount(2) (Linux 6.8): false where that cannot be asked.
[[nodiscard]] bool sees_whole_mount_namespace(const SystemCalls& calls, const MountTable& own);

// In the root of every cgroup hierarchy, seen from the first cgroup namespace (elsewhere "/" may be any cgroup).
[[nodiscard]] bool in_root_cgroup(const SystemCalls& calls);
// In the same cgroups as the parent process.
[[nodiscard]] bool in_parents_cgroup(const SystemCalls& calls);

// One /proc/PID/task/TID/mountinfo for each mount namespace that a task of this machine is in, other than the calling
// thread's own: of a task that is not in a chroot. Errors: a namespace that may not be read, or only from a chroot.
[[nodiscard]] Result<std::vector<std::string>> other_mount_namespaces(const SystemCalls& calls);

}  // namespace unmoor::kernel
