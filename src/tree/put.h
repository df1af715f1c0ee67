// SPDX-License-Identifier: MIT
// Taking and dropping references to mounts, and what happens when the last one goes.
//
// A mount in a namespace has one reference from the tree. Whoever drops a reference while Mount::ns is set knows that
// it is not the last, and just counts (put's fast path: no lock, no barrier, no look at the sum). The umounter clears
// ns and then gives the tree's reference up in one of two ways:
//   - after a grace period: everybody who saw ns set has finished counting; or
//   - at once, if under the mount lock the count is exactly 1: then nobody else has a reference, so nobody is inside
//   the
//     fast path, and a walker that takes one now will see the changed sequence, take the mount lock, and find kDoomed.
// Dropping it at once when the count is larger is the bug of RFC v3: a holder in the fast path brings the count to zero
// after the umounter has looked, and nobody releases the mount.
#pragma once

#include <cstdint>

#include "tree/core.h"

namespace unmoor::tree {

// What became releasable under the mount lock; finish() does the rest without it.
struct Doomed {
  List<Superblock, ShutdownTag> to_shut_down;  // with their last mounts
  RetiredChain freed;                          // mounts whose filesystem lives on
  Place* dropped = nullptr;                    // mountpoints whose last mount went (Place::next_dropped)
  bool deferred = false;                       // the pool got work

  [[nodiscard]] bool empty() const { return to_shut_down.empty() && freed.count == 0; }
};

// Inside a read section: turns a pointer found by a walk that began at `sequence` into a reference. False: try again.
[[nodiscard]] bool legitimize(Core& core, Mount* mount, std::uint64_t sequence);

// Drops a reference; may run shutdown(). put() is a user's and clears the expiry mark.
void put(Core& core, Mount* mount);
void put_keeping_mark(Core& core, Mount* mount);

// Drops a reference under the mount lock; dooms the mount if it was the last.
void put_locked(Core& core, Mount* mount, Doomed& doomed) UNMOOR_REQUIRES(core.mount_lock.mutex);
// The count is zero, for good.
void doom(Core& core, Mount* mount, Doomed& doomed) UNMOOR_REQUIRES(core.mount_lock.mutex);
// Releases what was doomed, and runs the shutdown()s: in this thread, or, inside one of this core's callbacks, by the
// pool. Inside a shutdown() the outermost release does it. No lock is held.
void finish(Core& core, Doomed& doomed);

// Retires mounts that nobody can find any more, and drops their references to the core.
void free_mounts(Core& core, const RetiredChain& freed);
// The shutdown() of one superblock. What that released goes to `more`.
void run_shutdown(Core& core, Superblock* superblock, List<Superblock, ShutdownTag>& more);
// Afterwards: their last mounts go out of sight, and are the caller's to free.
[[nodiscard]] RetiredChain bury(Core& core, List<Superblock, ShutdownTag>& shut_down)
    UNMOOR_REQUIRES(core.mount_lock.mutex);

// Takes a mount off its parent. Under the namespace and mount locks with the sequence odd, or (stuck children) the
// mount lock. Puts the place on `dropped` if it was its last mount.
void unhang(Core& core, Mount* mount, Place*& dropped);
// Tells the filesystems and drops the references that `dropped` holds. No lock is held.
void drop_places(Core& core, Place* dropped);
void put_place(Core& core, Place* place);

}  // namespace unmoor::tree
