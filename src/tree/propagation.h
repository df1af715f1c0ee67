// SPDX-License-Identifier: MIT
// Shared subtrees: who receives what is mounted and unmounted where. docs/propagation.md explains; the behaviour is
// that of Linux 6.18 (Documentation/filesystems/sharedsubtree.rst).
//
// Mounts that share propagation with each other are a ring of peers with one group number. A mount that only receives
// is a slave of one member of another ring (its master). So all that receive from a mount form a tree: its peers, the
// slaves of each of them, their peers, ...
#pragma once

#include "tree/namespace_lock.h"

namespace unmoor::tree {

[[nodiscard]] inline bool are_peers(const Mount* a, const Mount* b) {
  return a->group == b->group && a->group != 0;
}
[[nodiscard]] inline Mount* next_peer(Mount* mount) {
  return element<Mount>(static_cast<Link<PeerTag>*>(mount)->next);
}

// The next mount after `mount` that receives from `origin`; begins and ends with `origin` (nullptr). Peers come after
// slaves, and each peer group lies together.
[[nodiscard]] Mount* propagation_next(Mount* mount, Mount* origin);
// The same, past everything that receives from `mount` and its peers.
[[nodiscard]] Mount* propagation_skip(Mount* mount, Mount* origin);

// Makes a mount private, shared (its group must exist), slave or unbindable.
void change_propagation(Core& core, Mount* mount, Propagation type);
// Gives every mount of the tree without one a group of its own, or none.
[[nodiscard]] Result<void> invent_groups(Core& core, Mount* top, Recursion recursion);
// Takes back what invent_groups gave to mounts that have not become shared; up to `end`.
void drop_invented_groups(Core& core, Mount* top, Mount* end);

// Copies of `source` for every mount that receives from `destination`, with parent and mountpoint set, in `copies`; the
// last made is first. On failure too: the caller disposes of them.
[[nodiscard]] Result<void> propagate_mount(NamespaceLock& lock, Mount* destination, Place* place, Mount* source,
                                           List<Mount, WorkTag>& copies);

// Whether the mount, or what an unmount of it would take along elsewhere, is in use: more than one reference.
[[nodiscard]] bool propagate_mount_busy(Core& core, Mount* mount);
// Adds to `set`, a whole tree that is being unmounted, its top first, what goes with it elsewhere. Mount lock, sequence
// odd.
void propagate_umount(NamespaceLock& lock, List<Mount, WorkTag>& set);
// None of `set` takes part in propagation any more; their slaves get the nearest master that stays.
void make_all_private(Core& core, List<Mount, WorkTag>& set);

// Whether a mount on `place` of `from` would be propagated onto the root of `to`.
[[nodiscard]] bool would_overmount(Mount* from, Mount* to, const Place* place);

}  // namespace unmoor::tree
