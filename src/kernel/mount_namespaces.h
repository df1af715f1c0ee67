// SPDX-License-Identifier: MIT
// Mount namespaces other than our own: who they are (the inode number of their nsfs file), and their mount tables.
//
// A namespace is known by /proc/PID/ns/mnt of its processes; one without a process is kept by a descriptor or by a bind
// mount of its nsfs file. Linux 6.12 can list them all (NS_MNT_GET_NEXT), which needs CAP_SYS_ADMIN.
#pragma once

#include <cstdint>
#include <functional>

#include "kernel/error.h"
#include "kernel/mount_table.h"
#include "kernel/system_calls.h"
#include "kernel/unique_fd.h"

namespace unmoor::kernel {

using NamespaceInode = std::uint64_t;

// The inode number behind `link` ("ns/mnt" of an open /proc/PID). Errors: those of statx(2); EACCES when the process
// is somebody else's.
[[nodiscard]] Result<NamespaceInode> namespace_inode(const SystemCalls& calls, int directory, const char* link);

// The namespace number in an nsfs link or mount root such as "mnt:[4026531841]"; 0 for any other text.
[[nodiscard]] NamespaceInode parse_mount_namespace_link(std::string_view text);

// Calls `visit` with a descriptor of every mount namespace the kernel lists beside the caller's own. ENOTTY or EPERM
// where it cannot be asked; namespaces found before an error stay visited.
[[nodiscard]] Result<void> for_each_mount_namespace(const SystemCalls& calls, int proc,
                                                    const std::function<void(NamespaceInode, UniqueFd)>& visit);

// Reads mount tables from inside other namespaces, on a thread of the caller's that must do nothing else afterwards:
// its root and working directory are no longer shared with the process. Mount points are seen from the namespace's own
// root, also when every process in it is chrooted.
//
// Whoever is in a namespace, or has it open, keeps it and every filesystem in it alive: a visit is over before the
// table is parsed, and the thread is back in the namespace it came from.
class NamespaceVisitor {
 public:
  // `proc` is an open /proc; it must outlive the visitor. Errors: EPERM and those of unshare(2).
  [[nodiscard]] static Result<NamespaceVisitor> on_this_thread(const SystemCalls& calls, int proc);
  // Errors: EPERM where setns(2) is not allowed; those of MountTable::read.
  [[nodiscard]] Result<MountTable> table_of(UniqueFd name_space) const;

 private:
  NamespaceVisitor(const SystemCalls& calls, int proc, UniqueFd home)
      : calls_(&calls), proc_(proc), home_(std::move(home)) {}
  [[nodiscard]] Result<std::string> text_of(UniqueFd name_space) const;

  const SystemCalls* calls_;
  int proc_;
  UniqueFd home_;
};

}  // namespace unmoor::kernel
