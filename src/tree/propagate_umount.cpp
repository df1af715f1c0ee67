// SPDX-License-Identifier: MIT
// What goes along, elsewhere, when a tree is unmounted.
//
// A mount whose parent receives from the parent of one that goes, at the same place, is a candidate. Two things must
// hold for those that go:
//   non-shifting   a mount that goes has no child that stays, except one that covers its root and can slide down;
//   non-revealing  a locked mount goes only if its parent goes: it was put there to hide something.
// Each step is linear in the number of candidates. docs/propagation.md has the pictures.
#include "tree/attach.h"
#include "tree/propagation.h"

namespace unmoor::tree {
namespace {

using Set = List<Mount, WorkTag>;

[[nodiscard]] bool is_candidate(const Mount* mount) {
  return mount->marked(mount_mark::kCandidate);
}
[[nodiscard]] bool goes(const Mount* mount) {
  return mount->has(mount_flag::kUmount);
}

void drop_candidate(Mount* mount) {
  mount->unmark(mount_mark::kMarked | mount_mark::kCandidate);
  Set::remove(mount);
}

// Decided: it goes. Its parent's list of children is from now on about what stays or is undecided.
void commit(Mount* mount, Set& going) {
  mount->raise(mount_flag::kUmount);
  List<Mount, ChildTag>::remove(mount);
  mount->in()->remove(mount);
  going.push_back(mount);
}

// Deepest last made, first looked at: children before their parents.
void gather(Core& core, Set& set, Set& candidates) {
  const Mount* const top = set.front();
  for (Mount* const mount : set) {
    if (is_candidate(mount)) continue;
    mount->mark(mount_mark::kCandidate);
    Mount* const parent = mount->up();
    for (Mount* receiver = propagation_next(parent, parent); receiver != nullptr;) {
      Mount* const child = core.table.find(receiver, mount->on());
      if (child != nullptr) {
        if (is_candidate(child)) {
          // Found from another member of the set, and with it all that receive from here on.
          receiver = propagation_skip(receiver, parent);
          continue;
        }
        child->mark(mount_mark::kCandidate);
        // What receives the unmount that was asked for may be parted from its parent.
        if (mount == top) child->lower(mount_flag::kLocked);
        if (!goes(child)) candidates.push_front(child);
      }
      receiver = propagation_next(receiver, parent);
    }
  }
  for (Mount* const mount : set)
    mount->unmark(mount_mark::kCandidate);
}

// A child of `mount` stays. Then so does every candidate above that has it inside; one that is only covered may go.
// The mark says that the way up from here has been walked.
void keep_ancestors(Mount* mount) {
  Mount* child = mount;
  for (Mount* parent = child->up(); is_candidate(parent); child = parent, parent = child->up()) {
    if (child->marked(mount_mark::kMarked)) return;
    child->mark(mount_mark::kMarked);
    if (child != parent->over()) parent->unmark(mount_mark::kCandidate);
  }
}

void trim(Mount* mount, Set& going) {
  if (!is_candidate(mount)) {  // by keep_ancestors
    drop_candidate(mount);
    return;
  }
  bool child_stays = false;
  bool inside = false;
  for (Mount* const child : mount->children) {
    if (is_candidate(child)) continue;
    child_stays = true;
    if (child != mount->over()) {
      inside = true;
      break;
    }
  }
  if (child_stays) {
    keep_ancestors(mount);
    if (inside) drop_candidate(mount);
  } else if (!mount->has(mount_flag::kLocked) && mount->children.empty()) {
    drop_candidate(mount);
    commit(mount, going);
  }
}

// What is left hangs together by locks. From `mount` upwards, all goes up to the highest that is unlocked, or all, if
// the chain ends at one that goes.
void decide_locked(Mount* mount, Set& going) {
  if (!is_candidate(mount)) {
    drop_candidate(mount);
    return;
  }
  Mount* cutoff = mount;
  Mount* above = mount;
  while (is_candidate(above)) {
    drop_candidate(above);
    Mount* const parent = above->up();
    if (!above->has(mount_flag::kLocked)) cutoff = parent;
    above = parent;
  }
  if (goes(above)) cutoff = above;
  for (Mount* m = mount; m != cutoff;) {
    Mount* const parent = m->up();
    commit(m, going);
    m = parent;
  }
}

// `cover` stays on top of a stack that goes: it slides down to where the bottom of the stack hung. For a moment two
// mounts are at the same place, until umount_tree takes the stack away.
void slide_down(NamespaceLock& lock, Mount* cover) {
  Mount* under = cover;
  Place* place = nullptr;
  do {
    place = under->on();
    under = under->up();
  } while (goes(under));
  change_mountpoint(lock, cover, under, place);
}

}  // namespace

void propagate_umount(NamespaceLock& lock, Set& set) {
  Set candidates;
  Set going;
  gather(lock.core, set, candidates);
  for (Mount* mount = candidates.front(); mount != nullptr;) {
    Mount* const next = candidates.next(mount);
    trim(mount, going);
    mount = next;
  }
  while (Mount* const mount = candidates.front())
    decide_locked(mount, going);
  for (Mount* const mount : going) {
    Mount* const cover = mount->over();
    if (cover != nullptr && !goes(cover)) slide_down(lock, cover);
  }
  set.splice_back(going);
}

bool propagate_mount_busy(Core& core, Mount* mount) {
  if (!mount->children.empty() || mount->counts.sum() > 1) return true;
  if (!mount->has_parent()) return false;
  Mount* const parent = mount->up();
  for (Mount* receiver = propagation_next(parent, parent); receiver != nullptr;
       receiver = propagation_next(receiver, parent)) {
    Mount* const child = core.table.find(receiver, mount->on());
    if (child == nullptr) continue;
    // One with a child inside would not go; one that is only covered would.
    if (!child->children.empty() && (!child->children.singular() || child->over() == nullptr)) continue;
    if (child->counts.sum() > 1) return true;
  }
  return false;
}

}  // namespace unmoor::tree
