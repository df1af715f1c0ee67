// SPDX-License-Identifier: MIT
// Peer groups and masters: walking them and changing them.
#include "tree/propagation.h"

#include <bit>
#include <cerrno>
#include <new>

namespace unmoor::tree {
namespace {

// The next on the way up and along, not down into the slaves of `mount`.
Mount* next_without_slaves(Mount* mount, Mount* origin) {
  while (true) {
    Mount* const master = mount->master;
    if (master == origin->master) {
      Mount* const peer = next_peer(mount);
      return peer == origin ? nullptr : peer;
    }
    if (Mount* const sibling = master->slaves.next(mount)) return sibling;
    mount = master;
  }
}

// `mount` no longer passes anything on: its slaves go to `heir`, or have no master.
void hand_over_slaves(Mount* mount, Mount* heir) {
  if (heir == nullptr) {
    while (Mount* const slave = mount->slaves.pop_front())
      slave->master = nullptr;
    return;
  }
  for (Mount* slave : mount->slaves)
    slave->master = heir;
  // In front of the heir's own, in their order.
  List<Mount, SlaveTag> rest;
  rest.splice_back(heir->slaves);
  heir->slaves.splice_back(mount->slaves);
  heir->slaves.splice_back(rest);
}

void leave_master(Mount* mount) {
  List<Mount, SlaveTag>::remove(mount);
}

}  // namespace

std::uint32_t GroupIds::allocate() {
  for (std::size_t word = first_free_word_;; ++word) {
    if (word == used_.size()) {
      try {
        used_.push_back(word == 0 ? 1 : 0);  // 0 is no group
      } catch (const std::bad_alloc&) {
        return 0;
      }
    }
    if (~used_[word] == 0) continue;
    first_free_word_ = word;
    const auto bit = static_cast<unsigned>(std::countr_one(used_[word]));
    used_[word] |= std::uint64_t{1} << bit;
    return static_cast<std::uint32_t>(word * 64 + bit);
  }
}

void GroupIds::free(std::uint32_t id) {
  const std::size_t word = id / 64;
  used_[word] &= ~(std::uint64_t{1} << (id % 64));
  if (word < first_free_word_) first_free_word_ = word;
}

Mount* propagation_next(Mount* mount, Mount* origin) {
  if (Mount* const slave = mount->slaves.front()) return slave;
  return next_without_slaves(mount, origin);
}

Mount* propagation_skip(Mount* mount, Mount* origin) {
  Mount* next = next_without_slaves(mount, origin);
  while (next != nullptr && are_peers(mount, next))
    next = next_without_slaves(next, origin);
  return next;
}

void change_propagation(Core& core, Mount* mount, Propagation type) {
  if (type == Propagation::kShared) {
    mount->unmark(mount_mark::kUnbindable);
    mount->mark(mount_mark::kShared);
    return;
  }
  Mount* master = mount->master;
  if (mount->shared()) {
    Link<PeerTag>& ring = *mount;
    if (ring.linked()) {
      master = next_peer(mount);
      ring.unlink();
    } else {
      core.groups.free(mount->group);
    }
    mount->group = 0;
    mount->unmark(mount_mark::kShared);
    hand_over_slaves(mount, master);
  }
  leave_master(mount);
  if (type == Propagation::kSlave) {
    mount->master = master;
    if (master != nullptr) master->slaves.push_front(mount);
    return;
  }
  mount->master = nullptr;
  if (type == Propagation::kUnbindable) {
    mount->mark(mount_mark::kUnbindable);
  } else {
    mount->unmark(mount_mark::kUnbindable);
  }
}

Result<void> invent_groups(Core& core, Mount* top, Recursion recursion) {
  for (Mount* m = top; m != nullptr; m = recursion == Recursion::kTree ? next_in_tree(m, top) : nullptr) {
    if (m->group != 0) continue;
    m->group = core.groups.allocate();
    if (m->group == 0) {
      drop_invented_groups(core, top, m);
      return std::unexpected(Error{ENOMEM, "no memory for a peer group"});
    }
  }
  return {};
}

void drop_invented_groups(Core& core, Mount* top, Mount* end) {
  for (Mount* m = top; m != end; m = next_in_tree(m, top)) {
    if (m->group == 0 || m->shared()) continue;
    core.groups.free(m->group);
    m->group = 0;
  }
}

// The mounts of a set that go have to be cut out of the graph. Following one of them up (its next peer becomes its
// master, or, for the last peer, its own master is next) ends at a mount that stays, at nothing, or at one that has
// been cut before and whose heir is known. Everything on the way gets that heir, so each is walked once.
void make_all_private(Core& core, List<Mount, WorkTag>& set) {
  for (Mount* const mount : set) {
    if (mount->marked(mount_mark::kMarked)) continue;
    Mount* heir = nullptr;
    for (Mount* m = mount;;) {
      Mount* next = next_peer(m);
      if (next != m) {
        static_cast<Link<PeerTag>*>(m)->unlink();
        m->group = 0;
        m->master = next;
      } else {
        if (m->shared()) {
          core.groups.free(m->group);
          m->group = 0;
        }
        next = m->master;
      }
      leave_master(m);
      m->unmark(mount_mark::kShared);
      m->mark(mount_mark::kMarked);
      if (next == nullptr || !next->has(mount_flag::kUmount)) {
        heir = next;
        break;
      }
      if (next->marked(mount_mark::kMarked)) {
        heir = next->master;
        break;
      }
      m = next;
    }
    for (Mount* m = mount; m->master != heir;) {
      Mount* const next = m->master;
      m->master = heir;
      m = next;
    }
  }
  for (Mount* const mount : set) {
    hand_over_slaves(mount, mount->master);
    mount->master = nullptr;
    mount->unmark(mount_mark::kMarked);
  }
}

bool would_overmount(Mount* from, Mount* to, const Place* place) {
  if (!from->shared() || to->root != place) return false;
  for (Mount* m = to; m != nullptr; m = m->master) {
    if (are_peers(from, m)) return true;
  }
  return false;
}

}  // namespace unmoor::tree
