// SPDX-License-Identifier: MIT
#include "tree/put.h"

#include <array>
#include <exception>
#include <mutex>
#include <span>

#include "tree/thread_frames.h"

namespace unmoor::tree {

thread_local constinit ThreadFrame* ThreadFrame::top = nullptr;

bool legitimize(Core& core, Mount* mount, std::uint64_t sequence) {
  mount->counts.get_ordered();
  if (core.mount_lock.sequence.load(std::memory_order_seq_cst) == sequence) return true;
  // Something changed. If this mount is being unmounted by somebody who promised that it is shut down at return, the
  // final put must stay the umounter's: it waits for us (we are inside a read section), so just uncount. The flags are
  // looked at under the lock: without it they could be raised between the look and the put.
  bool just_uncount = false;
  {
    MutexLock lock(core.mount_lock.mutex);
    just_uncount = mount->has(mount_flag::kSyncUmount | mount_flag::kDoomed);
    if (just_uncount) mount->counts.put();
  }
  // Not inside the read section, since this may be the last reference and wait: the caller's walk is over anyway.
  if (!just_uncount) {
    core.domain.unlock();
    put(core, mount);
    core.domain.lock();
  }
  return false;
}

void put(Core& core, Mount* mount) {
  // Looked at before it is written: many users share the line.
  if (mount->expiry_mark.load(std::memory_order_relaxed) != 0) {
    mount->expiry_mark.store(0, std::memory_order_relaxed);
  }
  put_keeping_mark(core, mount);
}

void put_keeping_mark(Core& core, Mount* mount) {
  core.domain.lock();
  if (mount->ns.load(std::memory_order_acquire) != nullptr) {
    mount->counts.put();
    core.domain.unlock();
    return;
  }
  core.domain.unlock();

  Doomed doomed;
  {
    MutexLock lock(core.mount_lock.mutex);
    if (mount->has(mount_flag::kDeferred) && core.policy->on_demand()) {
      mount->counts.put();
      if (mount->counts.sum() == 1) {
        // Only the pool's reference is left. It is the proof of the idle umount over again, so no grace period is
        // needed, and whoever waits for this holder to go finds the filesystem shut down.
        core.pool.undefer(mount);
        mount->counts.put();
        doom(core, mount, doomed);
        count(core.counters.taken_over);
        count(core.counters.released_by_holder);
      }
    } else {
      put_locked(core, mount, doomed);
      if (!doomed.empty()) count(core.counters.released_by_holder);
    }
  }
  finish(core, doomed);
}

void put_locked(Core& core, Mount* mount, Doomed& doomed) {
  mount->counts.put();
  if (mount->counts.sum() == 0 && !mount->has(mount_flag::kDoomed)) doom(core, mount, doomed);
}

void unhang(Core& core, Mount* mount, Place*& dropped) {
  Mount* const parent = mount->up();
  Place* const place = mount->on();
  if (core.table.remove(mount)) {
    if (parent->over() == mount) parent->overmount.store(nullptr, std::memory_order_release);
    parent->child_count.store(parent->child_count.load(std::memory_order_relaxed) - 1, std::memory_order_release);
  }
  mount->parent.store(mount, std::memory_order_release);
  mount->mountpoint.store(nullptr, std::memory_order_release);
  List<Mount, ChildTag>::remove(mount);
  List<Mount, PlaceMountsTag>::remove(mount);
  // The mount's reference to the place goes on to the list, or away.
  if (place->mounts.empty() && !place->dropped) {
    place->dropped = true;
    place->next_dropped = dropped;
    dropped = place;
  } else {
    put_place(core, place);
  }
}

void drop_places(Core& core, Place* dropped) {
  while (dropped != nullptr) {
    // Some at a time: the locks are taken once for them, and a place is ours only while it says `dropped`.
    std::array<Place*, 64> places;
    std::array<bool, 64> vacant;
    std::size_t count = 0;
    {
      MutexLock lock(core.mount_lock.mutex);
      for (; dropped != nullptr && count < places.size(); ++count) {
        Place* const place = dropped;
        dropped = place->next_dropped;
        if (dropped != nullptr) __builtin_prefetch(&dropped->next_dropped);
        place->dropped = false;
        places[count] = place;
        vacant[count] = place->mounts.empty();  // or something was mounted there meanwhile
      }
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (vacant[i]) places[i]->superblock->filesystem->mountpoint_dropped(places[i]->shown());
    }
    core.retired.retire(core.places.put(std::span(places.data(), count)));
  }
}

void put_place(Core& core, Place* place) {
  if (core.places.put(place)) core.retired.retire(place);
}

namespace {

// Released: no longer in sight.
void forget(Core& core, Mount* mount) UNMOOR_REQUIRES(core.mount_lock.mutex) {
  core.by_id.remove(mount);
  if (!List<Mount, NsTag>::contains(mount)) return;
  List<Mount, NsTag>::remove(mount);
  --core.detached_count;
}

}  // namespace

void doom(Core& core, Mount* mount, Doomed& doomed) {
  List<Mount, WorkTag> todo;
  for (Mount* m = mount; m != nullptr; m = todo.pop_front()) {
    m->raise(mount_flag::kDoomed);
    // What was left hanging on it (locked, or on request) is released on the same terms as the mount itself: at once if
    // nobody else holds it, else, on demand, after a grace period of its own. Under the other policies one has passed.
    if (!m->children.empty()) {
      core.mount_lock.sequence.fetch_add(1, std::memory_order_seq_cst);
      while (Mount* const child = m->children.front()) {
        unhang(core, child, doomed.dropped);
        if (core.policy->on_demand() && child->counts.sum() != 1) {
          List<Mount, WorkTag> held;
          held.push_back(child);
          core.pool.defer(held);
          doomed.deferred = true;
          continue;
        }
        child->counts.put();
        if (child->counts.sum() == 0) todo.push_back(child);
      }
      core.mount_lock.sequence.fetch_add(1, std::memory_order_seq_cst);
    }
    if (--m->superblock->active == 0) {
      m->superblock->last = m;  // stays in sight until its shutdown() has returned
      doomed.to_shut_down.push_back(m->superblock);
    } else {
      forget(core, m);
      core.notify_waiters();
      doomed.freed.add(m);
    }
  }
}

void free_mounts(Core& core, const RetiredChain& freed) {
  if (freed.count == 0) return;
  count(core.counters.mounts, -std::uint64_t{freed.count});
  core.retired.retire(freed);
  core.unref(freed.count);
}

void run_shutdown(Core& core, Superblock* superblock, List<Superblock, ShutdownTag>& more) {
  {
    ThreadFrame frame(core, ThreadFrame::Kind::kRelease);
    try {
      superblock->filesystem->shutdown();
    } catch (...) {
      count(core.counters.failed_shutdowns);
    }
    more.splice_back(frame.later);
  }
}

RetiredChain bury(Core& core, List<Superblock, ShutdownTag>& shut_down) {
  RetiredChain gone;
  while (Superblock* const superblock = shut_down.pop_front()) {
    forget(core, superblock->last);
    gone.add(superblock->last);
  }
  count(core.counters.shutdowns, gone.count);
  core.notify_waiters();
  return gone;
}

void finish(Core& core, Doomed& doomed) {
  if (doomed.deferred) core.pool.kick();
  if (doomed.dropped != nullptr) drop_places(core, doomed.dropped);
  if (doomed.empty()) return;
  core.ref();  // the mounts' references may have been the last
  free_mounts(core, doomed.freed);
  if (doomed.to_shut_down.empty()) {
    // Nothing more.
  } else if (ThreadFrame* const frame = ThreadFrame::find(core, ThreadFrame::Kind::kRelease)) {
    frame->later.splice_back(doomed.to_shut_down);
  } else if (ThreadFrame::inside(core)) {
    {
      MutexLock lock(core.mount_lock.mutex);
      core.pool.leave(doomed.to_shut_down);
    }
    core.pool.kick();
  } else {
    core.pool.shut_down(doomed.to_shut_down);
  }
  core.unref();
}

}  // namespace unmoor::tree
