// SPDX-License-Identifier: MIT
// A mount namespace, and the anonymous kind that a detached tree lives in.
#pragma once

#include <atomic>
#include <cstdint>

#include "tree/list.h"
#include "tree/mount.h"
#include "tree/retired.h"

namespace unmoor::tree {

struct Core;

// N, M: as in mount.h. Retired: whoever reads Mount::ns without a lock may look at it for a grace period more.
struct Ns : Retired {
  Core* core = nullptr;
  std::uint64_t sequence = 0;  // which came first; 0: anonymous
  std::uint64_t origin = 0;    // anonymous: the namespace that it was cloned in, 0: none
  std::uint64_t owner = 0;     // the user namespace that it belongs to
  bool anonymous = false;

  Mount* root = nullptr;                // N; the absolute root
  List<Mount, NsTag> mounts;            // N; by id
  std::uint32_t mount_count = 0;        // N
  std::uint32_t pending_count = 0;      // N; being attached
  std::atomic<std::uint64_t> event{0};  // M

  // What a process in the namespace has as its root: counted. M, walkers read it.
  std::atomic<Mount*> process_root{nullptr};
  std::atomic<Place*> process_root_place{nullptr};

  void add(Mount* mount);     // N and M; sets Mount::ns
  void remove(Mount* mount);  // N and M; Mount::ns stays: umount_tree clears it
};

}  // namespace unmoor::tree
