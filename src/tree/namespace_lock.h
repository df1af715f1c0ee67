// SPDX-License-Identifier: MIT
// Holding the namespace lock, and the unlock path: the heart of the matter, where the kernel series lived.
#pragma once

#include "tree/core.h"
#include "tree/put.h"

namespace unmoor::tree {

// What an operation unmounts while it holds the lock is collected here and released when it unlocks: first the lock is
// dropped, then the filesystems hear of mountpoints that are free, then the policy releases the mounts. In Linux the
// list, ex_mountpoints and the lazy flag are globals guarded by namespace_sem, which some unlock could forget to reset;
// here they die with the operation that set them.
class UNMOOR_SCOPED_CAPABILITY NamespaceLock {
 public:
  explicit NamespaceLock(Core& c) UNMOOR_ACQUIRE(c.namespace_lock) : core(c) { core.namespace_lock.lock(); }
  ~NamespaceLock() UNMOOR_RELEASE();
  NamespaceLock(const NamespaceLock&) = delete;
  NamespaceLock& operator=(const NamespaceLock&) = delete;

  Core& core;
  Unmounted unmounted;
  Place* dropped = nullptr;  // ex_mountpoints; written under the mount lock too
  std::shared_ptr<Filesystem> made_read_only;
  Ns* emptied = nullptr;  // an anonymous namespace whose mounts have gone elsewhere
};

}  // namespace unmoor::tree
