// SPDX-License-Identifier: MIT
// The threads that release what the unmounter did not: one that waits for grace periods, and as many as it takes to run
// shutdown()s so that none waits behind a slow one. None is started before there is work for it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "sync/mutex.h"
#include "tree/list.h"
#include "tree/mount.h"
#include "tree/superblock.h"

namespace unmoor::tree {

struct Core;
struct JobTag;

// Filesystems to be shut down, taken one by one by whoever has time. Under the pool's lock.
struct ShutdownJob : Link<JobTag> {
  List<Superblock, ShutdownTag> waiting;
  std::size_t running = 0;
  std::uint64_t begun = 0;
  bool owned = true;  // a thread works through it and waits for its end
};

class ReleasePool {
 public:
  explicit ReleasePool(Core& core);
  ~ReleasePool();  // nothing is left to be released
  ReleasePool(const ReleasePool&) = delete;
  ReleasePool& operator=(const ReleasePool&) = delete;

  // Takes over the tree's reference of each mount, to be dropped after a grace period that begins later. Under the
  // mount lock, so that a holder who lets go sees either the umounter or the pool behind the mount. kick() follows,
  // without it.
  void defer(List<Mount, WorkTag>& mounts);
  // A holder takes the release of a deferred mount over. Under the mount lock.
  void undefer(Mount* mount);
  // Filesystems whose shutdown() this thread may not run (it is inside a callback). Under the mount lock; then kick().
  void leave(List<Superblock, ShutdownTag>& doomed);
  // Wakes the pool. Without the mount lock.
  void kick();
  // Waits until the backlog, and the memory that waits for a grace period, are below the bound.
  void throttle();

  // Runs the shutdown() of every superblock of `list`, and returns when all have returned. If one takes long, threads
  // of the pool run the others meanwhile.
  void shut_down(List<Superblock, ShutdownTag>& list);
  // The last mounts of filesystems that have been shut down go out of sight. Takes the mount lock. They are left to it
  // for a while so that the locks are taken once for many; whoever looks at what is pending calls it first.
  void bury();

  [[nodiscard]] std::size_t backlog() const { return backlog_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::size_t backlog_peak() const { return peak_.load(std::memory_order_relaxed); }

  // For Core::unref: whether this is a thread of the pool, which cannot destroy the pool it runs in, and the order to
  // do it once it has left.
  [[nodiscard]] bool on_pool_thread() const;
  static void adopt(Core* core);

 private:
  [[nodiscard]] bool start(void (ReleasePool::*loop)()) UNMOOR_REQUIRES(mutex_);
  void run_waiter();
  void run_worker();
  void release_arrived();
  // False: no thread to be had.
  bool call_worker() UNMOOR_REQUIRES(mutex_);
  // A job with something waiting.
  [[nodiscard]] ShutdownJob* next_job() UNMOOR_REQUIRES(mutex_);
  // Shuts one down. The lock is not held meanwhile.
  void work_on(ShutdownJob& job, Superblock* superblock) UNMOOR_REQUIRES(mutex_);

  Core& core_;
  // Under the mount lock.
  List<Mount, WorkTag> arrived_;  // for the next grace period
  List<Superblock, ShutdownTag> left_;
  std::atomic<std::size_t> backlog_{0};
  std::atomic<std::size_t> peak_{0};

  Mutex mutex_;                                               // a leaf
  CondVar work_;                                              // for the waiter
  CondVar jobs_ready_;                                        // for workers
  CondVar done_;                                              // a shutdown is done, the backlog shrank, a thread ended
  List<ShutdownJob, JobTag> jobs_ UNMOOR_GUARDED_BY(mutex_);  // those with something waiting, and some without
  ShutdownJob background_ UNMOOR_GUARDED_BY(mutex_);          // what nobody waits for
  List<Superblock, ShutdownTag> shut_down_ UNMOOR_GUARDED_BY(mutex_);  // and not buried; also under the mount lock
  std::size_t unburied_ UNMOOR_GUARDED_BY(mutex_) = 0;
  std::size_t threads_ UNMOOR_GUARDED_BY(mutex_) = 0;
  std::size_t idle_workers_ UNMOOR_GUARDED_BY(mutex_) = 0;
  bool waiter_running_ UNMOOR_GUARDED_BY(mutex_) = false;
  bool watching_ UNMOOR_GUARDED_BY(mutex_) = false;  // a worker waits to see whether help is needed
  bool kicked_ UNMOOR_GUARDED_BY(mutex_) = false;
  bool stopping_ UNMOOR_GUARDED_BY(mutex_) = false;
};

}  // namespace unmoor::tree
