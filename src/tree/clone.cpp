// SPDX-License-Identifier: MIT
#include "tree/clone.h"

#include <cerrno>
#include <new>

#include "tree/attach.h"
#include "tree/path_hash.h"
#include "tree/propagation.h"
#include "tree/umount.h"

namespace unmoor::tree {
namespace {

// Puts back the mount that Superblock::get or a clone counted, when the mount itself could not be made.
void uncount(Core& core, Superblock* superblock) {
  {
    MutexLock lock(core.mount_lock.mutex);
    if (--superblock->active == 0) superblock->abandon();
  }
  superblock->unref();
}

Mount* allocate(Core& core, Superblock* superblock, Place* root, std::uint32_t flags) {
  auto* const mount = new (std::nothrow) Mount;
  if (mount == nullptr) return nullptr;
  if (!core.counts.allocate(mount->counts)) {
    delete mount;
    return nullptr;
  }
  mount->what = Retired::What::kMount;
  mount->superblock = superblock;
  mount->root = root;
  mount->parent.store(mount, std::memory_order_relaxed);
  mount->flags.store(flags, std::memory_order_relaxed);
  mount->counts.get();
  core.ref();
  count(core.counters.mounts);
  MutexLock lock(core.mount_lock.mutex);
  mount->id = core.last_id.load(std::memory_order_relaxed) + 1;
  core.last_id.store(mount->id, std::memory_order_relaxed);
  core.by_id.insert(mount);
  return mount;
}

}  // namespace

Mount* make_mount(Core& core, Superblock* superblock, std::string_view root, std::uint64_t root_hash,
                  std::uint32_t flags) {
  Place* const place = core.places.get(superblock, root, root_hash);
  Mount* const mount = place == nullptr ? nullptr : allocate(core, superblock, place, flags);
  if (mount != nullptr) return mount;
  if (place != nullptr) put_place(core, place);
  uncount(core, superblock);
  return nullptr;
}

void discard_mount(Core& core, Mount* mount) {
  {
    MutexLock lock(core.mount_lock.mutex);
    core.by_id.remove(mount);
    if (--mount->superblock->active == 0) mount->superblock->abandon();
  }
  count(core.counters.mounts, -std::uint64_t{1});
  core.retired.retire(mount);
  core.unref();
}

Mount* clone_mount(NamespaceLock& lock, Mount* original, Place* root, CloneHow how) {
  Core& core = lock.core;
  std::uint32_t group = how.slave ? 0 : original->group;
  const bool own_group = how.make_shared && group == 0;
  if (own_group) {
    group = core.groups.allocate();
    if (group == 0) return nullptr;
  }
  Superblock* const superblock = original->superblock;
  superblock->ref();
  {
    MutexLock count_it(core.mount_lock.mutex);
    ++superblock->active;
  }
  PlaceTable::ref(root);
  Mount* const mount =
      allocate(core, superblock, root, original->flags.load(std::memory_order_relaxed) & ~mount_flag::kInternal);
  if (mount == nullptr) {
    put_place(core, root);
    uncount(core, superblock);
    if (own_group) core.groups.free(group);
    return nullptr;
  }
  mount->group = group;
  if (group != 0) mount->mark(mount_mark::kShared);
  // The copy is not unbindable, not even in a copy of the whole namespace: so it is since Linux 6.17.
  if (are_peers(mount, original)) static_cast<Link<PeerTag>*>(mount)->insert_after(*original);
  if (how.slave && original->group != 0) {
    original->slaves.push_front(mount);
    mount->master = original;
  } else if (original->master != nullptr) {
    original->master->slaves.insert_after(original, mount);
    mount->master = original->master;
  }
  return mount;
}

Result<Mount*> copy_tree(NamespaceLock& lock, Mount* top, Place* root, CloneHow how) {
  Core& core = lock.core;
  if (!how.copy_unbindable && top->unbindable()) return std::unexpected(Error{EINVAL, "the source is unbindable"});
  Mount* const copy = clone_mount(lock, top, root, how);
  if (copy == nullptr) return std::unexpected(Error{ENOMEM, "no memory for a mount"});
  Mount* original = top;  // the one that was copied last
  Mount* counterpart = copy;
  for (Mount* child : top->children) {
    if (!is_below(child->on()->path(), root->path())) continue;
    for (Mount* m = child; m != nullptr;) {
      if (!how.copy_unbindable && m->unbindable()) {
        if (m->has(mount_flag::kLocked)) {
          const MountWrite write(core.mount_lock);
          umount_tree(lock, copy, UmountHow{.sync = true});
          return std::unexpected(Error{EPERM, "a mount below the source is both unbindable and locked"});
        }
        m = next_past_tree(m, child);
        continue;
      }
      while (original != m->up()) {
        original = original->up();
        counterpart = counterpart->up();
      }
      Mount* const parent = counterpart;
      original = m;
      counterpart = clone_mount(lock, m, m->root, how);
      const MountWrite write(core.mount_lock);
      if (counterpart == nullptr) {
        umount_tree(lock, copy, UmountHow{.sync = true});
        return std::unexpected(Error{ENOMEM, "no memory for a mount"});
      }
      if (m->has(mount_flag::kLocked)) counterpart->raise(mount_flag::kLocked);
      hang(core, counterpart, parent, m->on());
      m = next_in_tree(m, child);
    }
  }
  return copy;
}

}  // namespace unmoor::tree
