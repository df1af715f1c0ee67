// SPDX-License-Identifier: MIT
// A holder: whatever pins a mount or a filesystem, and what would make it let go.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include "kernel/mount_namespaces.h"
#include "kernel/mount_table.h"

namespace unmoor::gone {

enum class HolderKind {
  // A process, through something of its own.
  kDescriptor,        // an open file
  kPathDescriptor,    // opened with O_PATH
  kWorkingDirectory,  // cwd
  kRootDirectory,     // chroot
  kExecutable,        // the program itself
  kMapping,           // a mapped file, with or without a descriptor
  kInFlight,          // descriptors queued on a unix socket, not yet received: the kernel does not say which files
  kRingFile,          // a file registered with io_uring
  kBoundSocket,       // a unix socket bound to a file
  kDetachedTree,      // a descriptor of open_tree(OPEN_TREE_CLONE) or fsmount
  kDeviceDescriptor,  // the block device's own node is open
  // The mount tree.
  kNestedMount,        // a mount on top of this one
  kMount,              // the filesystem is mounted in this namespace (a bind copy, when another mount was asked about)
  kNamespace,          // mounted in another mount namespace that has processes
  kNamespaceByHandle,  // mounted in a mount namespace that only a descriptor keeps
  kNamespaceByMount,   // mounted in a mount namespace that only a bind mount of its file keeps
  kNamespaceUnexplained,  // mounted in a mount namespace that the kernel lists and nobody seems to keep
  kOverlay,               // an overlay has its lower, upper or work directory here
  // The kernel itself.
  kSwap,
  kLoop,          // backing file of a loop device
  kBinaryFormat,  // binfmt_misc interpreter kept open (flag F)
  kUprobe,
  kExport,         // nfsd
  kStackedDevice,  // device-mapper or md on this block device
};

// What a holder stands in the way of.
enum class Prevents {
  kUnmount,   // umount(2) of the mount answers EBUSY
  kShutdown,  // the mount can go; the filesystem stays alive
  kDevice,    // the filesystem can go; the device stays in use
};

enum class Certainty {
  kCertain,
  kCandidate,  // may hold it: the kernel does not tell enough
};

struct Holder {
  HolderKind kind = HolderKind::kDescriptor;
  Prevents prevents = Prevents::kUnmount;
  Certainty certainty = Certainty::kCertain;
  pid_t pid = 0;  // 0: no process
  pid_t tid = 0;  // a thread that holds it by itself (own cwd, own descriptor table); 0: the process as a whole
  int descriptor = -1;
  bool deleted = false;  // the file has no name any more
  std::string command{};
  uid_t uid = 0;
  std::string user{};
  std::string unit{};       // systemd unit, from the control group
  std::string container{};  // engine and short id, from the control group
  std::string path{};       // as the kernel shows it; of a mount: its mount point
  std::uint64_t mount_id = 0;
  kernel::NamespaceInode mount_namespace = 0;  // where the process lives, or where the copy is mounted; 0: ours
  std::string detail{};                        // "loop3", "upperdir", "3 descriptors", "and 4 more processes"
  std::string release{};                       // a command that would free it; empty: none is known or safe
};

// Stable names, part of the JSON schema: "descriptor", "nested-mount", ...
[[nodiscard]] std::string_view name_of(HolderKind kind);
[[nodiscard]] std::string_view name_of(Prevents prevents);
// For people: "open file", "working directory", ...
[[nodiscard]] std::string_view words_for(HolderKind kind);

// Below /proc: the directory of a process, or of one of its threads (tid 0: none), and the link there that leads to
// what it holds; empty for kinds without one.
[[nodiscard]] std::string proc_directory(pid_t pid, pid_t tid);
[[nodiscard]] std::string proc_link(HolderKind kind, pid_t pid, pid_t tid, int descriptor);
// By that link, or through the holder's root: what it holds, for anybody who sees /proc; empty for holders without one.
[[nodiscard]] std::string path_to(const Holder& holder);

// Inner first: what must be let go before something else comes earlier; equal ones by pid, then descriptor.
void sort_inner_first(std::vector<Holder>& holders);

}  // namespace unmoor::gone
