// SPDX-License-Identifier: MIT
// What a Universe is made of. The verbs on it are in files of their own: walk, put, attach, umount, propagate_*, ...
//
// Lock order: namespace_lock > mount_lock > leaves. shutdown(), mountpoint_dropped(), the destructor of a filesystem
// and waits for grace periods happen with none of them held.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include <unmoor/tree/error.h>
#include <unmoor/tree/universe.h>

#include "rcu/rcu.h"
#include "sync/mutex.h"
#include "tree/counts.h"
#include "tree/fork_guard.h"
#include "tree/id_table.h"
#include "tree/mount_lock.h"
#include "tree/mount_table.h"
#include "tree/ns.h"
#include "tree/place.h"
#include "tree/release.h"
#include "tree/release_pool.h"
#include "tree/retired.h"

namespace unmoor::tree {

// Peer group numbers, smallest free first as Linux's IDA gives them. Under the namespace lock. Freeing never allocates.
class GroupIds {
 public:
  // 0 when memory is short.
  [[nodiscard]] std::uint32_t allocate();
  void free(std::uint32_t id);

 private:
  std::vector<std::uint64_t> used_;
  std::size_t first_free_word_ = 0;
};

struct Counters {
  std::atomic<std::uint64_t> mounts{0}, released_idle{0}, released_after_gp{0}, released_by_holder{0}, taken_over{0},
      grace_periods{0}, shutdowns{0}, failed_shutdowns{0}, throttled{0}, walk_fallbacks{0};
};
inline void count(std::atomic<std::uint64_t>& counter, std::uint64_t more = 1) {
  counter.fetch_add(more, std::memory_order_relaxed);
}

struct Core {
  explicit Core(const UniverseOptions& options);
  ~Core();

  // Everything that needs the core holds a reference: the Universe, namespaces, mounts that are not released.
  void ref(std::uint64_t more = 1) { references.fetch_add(more, std::memory_order_relaxed); }
  void unref(std::uint64_t less = 1);

  // Something left `detached`.
  void notify_waiters() UNMOOR_REQUIRES(mount_lock.mutex) {
    if (release_waiters.load(std::memory_order_relaxed) != 0) released.notify_all();
  }
  // Waits for a grace period, and counts it.
  void synchronize();
  // Whether `who` may do to what belongs to `owner` what its administrator may: it is the same or above. Namespace
  // lock.
  [[nodiscard]] bool capable(std::uint64_t who, std::uint64_t owner) const;
  // 0, or why this thread may not do what waits: EDEADLK, ESTALE after a fork.
  [[nodiscard]] Result<void> may_wait() const;

  const UniverseOptions options;
  const ForkGuard fork_guard;
  rcu::rcu_domain domain;
  CountPool counts;
  PlaceTable places;
  RetireList retired;
  const std::unique_ptr<Release> policy;

  Mutex namespace_lock;
  MountLock mount_lock;
  MountTable table;
  // Under the namespace lock.
  GroupIds groups;
  std::uint64_t next_ns = 1;
  std::vector<std::uint64_t> owner_parents{0};  // of each user namespace, the one it was made in; 0 is its own
  std::atomic<std::uint64_t> last_id{std::uint64_t{1} << 31};  // the highest that was given out

  IdTable by_id UNMOOR_GUARDED_BY(mount_lock.mutex);
  // Under the mount lock.
  List<Mount, NsTag> detached;  // unmounted, not yet released; oldest first
  std::size_t detached_count = 0;
  CondVar released;                          // something left `detached`; with mount_lock.mutex
  std::atomic<unsigned> release_waiters{0};  // counted before they look

  Counters counters;
  std::atomic<std::uint64_t> references{1};
  ReleasePool pool;  // last: its threads use the rest
};

}  // namespace unmoor::tree
