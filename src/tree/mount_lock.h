// SPDX-License-Identifier: MIT
// The mount lock: Linux's mount_lock, a lock with a sequence count.
//
// Lock order: namespace lock > mount lock > leaves (places, counts, retired, pool). Walkers take nothing and look at
// the sequence count before and after.
#pragma once

#include <atomic>
#include <cstdint>

#include "sync/mutex.h"

namespace unmoor::tree {

struct MountLock {
  Mutex mutex;
  std::atomic<std::uint64_t> sequence{0};  // odd while the tree is being changed
};

// Exclusive, and walkers notice.
class UNMOOR_SCOPED_CAPABILITY MountWrite {
 public:
  explicit MountWrite(MountLock& lock) UNMOOR_ACQUIRE(lock.mutex) : lock_(lock) {
    lock_.mutex.lock();
    lock_.sequence.fetch_add(1, std::memory_order_seq_cst);
  }
  ~MountWrite() UNMOOR_RELEASE() {
    lock_.sequence.fetch_add(1, std::memory_order_seq_cst);
    lock_.mutex.unlock();
  }
  MountWrite(const MountWrite&) = delete;
  MountWrite& operator=(const MountWrite&) = delete;

 private:
  MountLock& lock_;
};

}  // namespace unmoor::tree
