// SPDX-License-Identifier: MIT
#include "tree/attach.h"

#include <cerrno>

#include "tree/propagation.h"
#include "tree/umount.h"

namespace unmoor::tree {

void set_mountpoint(Mount* mount, Mount* parent, Place* place) {
  PlaceTable::ref(place);
  mount->parent.store(parent, std::memory_order_release);
  mount->mountpoint.store(place, std::memory_order_release);
  place->mounts.push_front(mount);
}

void make_visible(Core& core, Mount* mount) {
  Mount* const parent = mount->up();
  if (mount->on() == parent->root) parent->overmount.store(mount, std::memory_order_release);
  core.table.insert(mount);
  parent->children.push_back(mount);
  parent->child_count.store(parent->child_count.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

void hang(Core& core, Mount* mount, Mount* parent, Place* place) {
  set_mountpoint(mount, parent, place);
  make_visible(core, mount);
}

void change_mountpoint(NamespaceLock& lock, Mount* mount, Mount* parent, Place* place) {
  // Held over the change: it may be the same place.
  PlaceTable::ref(place);
  unhang(lock.core, mount, lock.dropped);
  hang(lock.core, mount, parent, place);
  put_place(lock.core, place);
}

Result<void> count_mounts(Core& core, Ns* ns, Mount* tree) {
  const std::uint32_t max = core.options.mount_max;
  std::uint64_t mounts = 0;
  for (Mount* m = tree; m != nullptr; m = next_in_tree(m, tree))
    ++mounts;
  if (std::uint64_t{ns->mount_count} + ns->pending_count + mounts > max) {
    return std::unexpected(Error{ENOSPC, "the namespace has no room for so many mounts (mount_max)"});
  }
  ns->pending_count += static_cast<std::uint32_t>(mounts);
  return {};
}

void lock_tree(Mount* top) {
  using namespace mount_flag;
  for (Mount* m = top; m != nullptr; m = next_in_tree(m, top)) {
    const auto attributes = AttributeSet::from_bits(m->flags.load(std::memory_order_relaxed) & kAttributes);
    std::uint32_t locks = kLockAtime;
    if (attributes.has(Attribute::kReadOnly)) locks |= kLockReadOnly;
    if (attributes.has(Attribute::kNoDev)) locks |= kLockNoDev;
    if (attributes.has(Attribute::kNoSuid)) locks |= kLockNoSuid;
    if (attributes.has(Attribute::kNoExec)) locks |= kLockNoExec;
    if (m != top) locks |= kLocked;
    m->raise(locks);
  }
}

namespace {

// The tree becomes part of its parent's namespace.
void join(Mount* top) {
  Ns* const ns = top->up()->in();
  if (List<Mount, NsTag>::contains(top)) return;
  for (Mount* m = top; m != nullptr; m = next_in_tree(m, top))
    ns->add(m);
  ns->mount_count += ns->pending_count;
  ns->pending_count = 0;
}

// And visible.
void show(Core& core, Mount* top) {
  Ns* const ns = top->up()->in();
  make_visible(core, top);
  ns->event.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

Result<void> attach_recursive(NamespaceLock& lock, Mount* source, Mount* destination, Place* place,
                              std::uint64_t owner) {
  Core& core = lock.core;
  const bool moving = source->has_parent();
  Ns* const ns = destination->in();
  // Where a mount goes that is already at the place: on the top of what comes.
  Place* const top_root = topmost(source)->root;

  if (!moving) {
    if (Result<void> room = count_mounts(core, ns, source); !room) {
      return room;
    }
  }
  List<Mount, WorkTag> copies;
  if (destination->shared()) {
    Result<void> done = invent_groups(core, source, Recursion::kTree);
    if (done) {
      done = propagate_mount(lock, destination, place, source, copies);
      if (!done) {
        {
          const MountWrite write(core.mount_lock);
          while (Mount* const copy = copies.pop_front()) {
            copy->up()->in()->pending_count = 0;
            umount_unattached(lock, copy);
          }
        }
        drop_invented_groups(core, source, nullptr);
      }
    }
    if (!done) {
      ns->pending_count = 0;
      return done;
    }
  }
  core.table.reserve(ns->pending_count + 1, core.mount_lock);

  const MountWrite write(core.mount_lock);
  if (destination->shared()) {
    for (Mount* m = source; m != nullptr; m = next_in_tree(m, source))
      m->mark(mount_mark::kShared);
  }
  if (moving) {
    unhang(core, source, lock.dropped);
  } else if (Ns* const anonymous = source->in()) {
    lock.emptied = anonymous;  // the tree moves out of it
    for (Mount* m = source; m != nullptr; m = next_in_tree(m, source))
      anonymous->remove(m);
  }
  set_mountpoint(source, destination, place);
  copies.push_front(source);
  // In the order in which they were made, so that each goes to the end of its namespace's list. The source was first.
  join(source);
  for (Mount* copy = copies.back(); copy != source; copy = copies.previous(copy))
    join(copy);
  while (Mount* const copy = copies.pop_front()) {
    if (copy->up()->in()->owner != owner) lock_tree(copy);
    Mount* const there = core.table.find(copy->up(), copy->on());
    show(core, copy);
    if (there == nullptr) continue;
    // What hid the place goes on hiding it, and stays locked if it was; the new one is under it.
    change_mountpoint(lock, there, topmost(copy), top_root);
  }
  return {};
}

}  // namespace unmoor::tree
