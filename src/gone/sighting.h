// SPDX-License-Identifier: MIT
// What a finder saw in one process, before it is known which target it belongs to.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <sys/types.h>
#include <vector>

#include "gone/holder.h"
#include "gone/wanted.h"
#include "kernel/procfs_identity.h"
#include "kernel/procfs_place.h"
#include "kernel/system_calls.h"

namespace unmoor::gone {

struct Sighting {
  HolderKind kind = HolderKind::kDescriptor;
  Certainty certainty = Certainty::kCertain;
  pid_t pid = 0;
  pid_t tid = 0;  // 0: the process as a whole
  int descriptor = -1;
  kernel::Place place{};    // mount_id 0: only the path or the device is known
  bool known_mount = true;  // false: place.mount_id means nothing; ask by path or device
  std::string path{};       // the link's text
  std::string detail{};
  kernel::NamespaceInode name_space = 0;  // of the one that was seen
};

// A namespace that keeps nobody else's name: found through a descriptor or a thread.
struct SeenNamespace {
  kernel::NamespaceInode inode = 0;
  pid_t pid = 0;
  pid_t tid = 0;        // a thread that lives in it
  int descriptor = -1;  // a descriptor that refers to it
};

// A process (or one of its threads) under an open directory of /proc: what is read through it is that process or
// nothing, also when its number is given to another one meanwhile.
struct ProcessView {
  const kernel::SystemCalls* calls = nullptr;
  const Wanted* wanted = nullptr;
  int directory = -1;
  pid_t pid = 0;
  pid_t tid = 0;  // 0: the process as a whole
  kernel::NamespaceInode name_space = 0;
  const kernel::MountTable* table = nullptr;        // of its namespace, if it was read
  std::atomic<std::uint64_t>* heartbeat = nullptr;  // moves on with every step
};

struct Sightings {
  std::vector<Sighting> seen{};
  // Of each process and thread (0: the process) that was seen holding something, read when it was seen: its number may
  // be another's by the time it is printed.
  std::map<std::pair<pid_t, pid_t>, kernel::ProcessIdentity> identities{};
  std::vector<SeenNamespace> namespaces{};
  std::vector<std::pair<std::uint64_t, pid_t>> socket_owners;  // socket inode, process: only for bound ones
  std::size_t denied = 0;                                      // processes that may not be looked into
};

}  // namespace unmoor::gone
