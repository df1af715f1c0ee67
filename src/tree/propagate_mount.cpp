// SPDX-License-Identifier: MIT
// What is attached to a shared mount is copied to everything that receives from it.
#include <cerrno>

#include "tree/attach.h"
#include "tree/clone.h"
#include "tree/path_hash.h"
#include "tree/propagation.h"

namespace unmoor::tree {
namespace {

// The first member, in propagation order, of the next peer group that receives from `origin`; `mount` is any member of
// the group before it. New mounts (in no namespace yet) pass nothing on.
Mount* next_group(Mount* mount, Mount* origin) {
  // Down from a group: into the slaves of any of its members. The members of a slave group follow each other on their
  // master's list, so a group has been left when the next on the list is not the next peer.
  while (true) {
    while (true) {
      if (mount->in() != nullptr) {
        if (Mount* const slave = mount->slaves.front()) return slave;
      }
      Mount* const peer = next_peer(mount);
      if (mount->group == origin->group) {
        if (peer == origin) return nullptr;
      } else if (mount->master->slaves.next(mount) != peer) {
        break;
      }
      mount = peer;
    }
    // `mount` was the last of its group. The next slave of the same master, or up.
    while (true) {
      Mount* const master = mount->master;
      if (Mount* const slave = master->slaves.next(mount)) return slave;
      mount = next_peer(master);
      if (master->group == origin->group) break;
      if (master->master->slaves.next(master) == mount) break;
      mount = master;
    }
    if (mount == origin) return nullptr;
  }
}

[[nodiscard]] bool needs_copy(const Mount* receiver, const Place* place) {
  const Ns* const ns = receiver->in();
  return ns != nullptr                                       // not one that this propagation made
         && is_below(place->path(), receiver->root->path())  // the place can be seen in it
         && !ns->anonymous;
}

// Which copy (or the original) a copy for `receiver`, the first of its group, is a slave of: the one that was made for
// the nearest of its masters that got one. Masters of receivers that have a copy are marked.
Mount* find_master(Mount* receiver, Mount* last_copy, Mount* original) {
  Mount* m = receiver;
  Mount* master = m->master;
  while (master != nullptr && !master->marked(mount_mark::kMarked)) {
    m = master;
    master = m->master;
  }
  while (!are_peers(last_copy, original)) {
    Mount* const parent = last_copy->up();
    if (parent->master == master) {
      if (!are_peers(parent, m)) last_copy = last_copy->master;
      break;
    }
    last_copy = last_copy->master;
  }
  return last_copy;
}

void mark_master(Mount* mount) {
  if (mount->master != nullptr) mount->master->mark(mount_mark::kMarked);
}

void unmark_master(Mount* mount) {
  if (mount->master != nullptr) mount->master->unmark(mount_mark::kMarked);
}

}  // namespace

Result<void> propagate_mount(NamespaceLock& lock, Mount* destination, Place* place, Mount* source,
                             List<Mount, WorkTag>& copies) {
  Core& core = lock.core;
  Result<void> result;
  Mount* copy = source;
  mark_master(destination);
  for (Mount* group = destination; group != nullptr && result; group = next_group(group, destination)) {
    CloneHow how;
    Mount* receiver = group;
    if (group == destination) {
      copy = source;
      how.make_shared = true;
      receiver = next_peer(group);
      if (receiver == group) continue;
    } else {
      how.slave = true;
      how.make_shared = group->shared();
    }
    do {
      if (!needs_copy(receiver, place)) {
        receiver = next_peer(receiver);
        continue;
      }
      if (how.slave) copy = find_master(receiver, copy, source);
      Result<Mount*> made = copy_tree(lock, copy, copy->root, how);
      if (!made) {
        result = std::unexpected(made.error());
        break;
      }
      {
        MutexLock hold(core.mount_lock.mutex);
        set_mountpoint(*made, receiver, place);
      }
      mark_master(receiver);
      copy = *made;
      copies.push_front(copy);
      result = count_mounts(core, receiver->in(), copy);
      if (!result) break;
      how = CloneHow{.make_shared = true};
      receiver = next_peer(receiver);
    } while (receiver != group);
  }
  for (Mount* const made : copies)
    unmark_master(made->up());
  unmark_master(destination);
  return result;
}

}  // namespace unmoor::tree
