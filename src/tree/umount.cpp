// SPDX-License-Identifier: MIT
#include "tree/umount.h"

#include <cerrno>
#include <chrono>

#include "tree/propagation.h"

namespace unmoor::tree {
namespace {

[[nodiscard]] std::int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Whether an unmounted mount is parted from its parent too, or stays on it for those who hold the parent.
[[nodiscard]] bool disconnects(const Mount* mount, UmountHow how) {
  if (how.sync || !mount->has_parent()) return true;
  if (!mount->up()->has(mount_flag::kUmount)) return true;  // never keep it on one that is still mounted
  return !how.connected && !mount->has(mount_flag::kLocked);
}

}  // namespace

void umount_tree(NamespaceLock& lock, Mount* top, UmountHow how) {
  Core& core = lock.core;
  List<Mount, WorkTag> set;
  // A big tree does not fit into any cache, so what nobody needs is not gone through again.
  bool sends = false;     // a parent passes on what happens on it
  bool receives = false;  // a mount takes part in propagation itself
  bool sticks = how.connected;
  for (Mount* m = top; m != nullptr; m = next_in_tree(m, top)) {
    if (const Mount* const sibling = m->up()->children.next(m)) prefetch(sibling);
    m->raise(mount_flag::kUmount);
    if (List<Mount, NsTag>::contains(m)) List<Mount, NsTag>::remove(m);
    set.push_back(m);
    sends = sends || m->up()->shared();
    receives = receives || m->shared() || m->master != nullptr;
    sticks = sticks || m->has(mount_flag::kLocked);
  }
  if (sends || sticks) {
    for (Mount* const m : set)
      List<Mount, ChildTag>::remove(m);
  }
  if (how.propagate && sends) propagate_umount(lock, set);
  if (sends || receives) make_all_private(core, set);

  const std::int64_t when = now();
  const auto ahead = [&core](const Mount* m) {
    if (const Place* const place = m->on()) {
      __builtin_prefetch(place, 1);
      __builtin_prefetch(&place->dropped, 1);
      core.table.prefetch(m->up(), place);
    }
  };
  consume(set, ahead, [&](Mount* m) {
    if (Ns* const ns = m->in()) {
      --ns->mount_count;
      ns->event.store(ns->event.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
    m->ns.store(nullptr, std::memory_order_release);
    if (how.sync) m->raise(mount_flag::kSyncUmount);
    m->detached_at = when;
    core.detached.push_back(m);
    ++core.detached_count;
    const bool disconnect = disconnects(m, how);
    if (m->has_parent()) {
      if (disconnect) {
        unhang(core, m, lock.dropped);
      } else {
        m->up()->children.push_back(m);
      }
    }
    if (disconnect) lock.unmounted.mounts.push_front(m);
  });
}

namespace {

[[nodiscard]] bool has(UmountFlags flags, UmountFlags flag) {
  return (static_cast<std::uint32_t>(flags) & static_cast<std::uint32_t>(flag)) != 0;
}

}  // namespace

Result<void> may_umount(NamespaceLock& lock, const Ns* ns, const Mount* target, bool root, UmountFlags flags) {
  if (!root) return std::unexpected(Error{EINVAL, "not the root of a mount"});
  if (target->in() != ns) return std::unexpected(Error{EINVAL, "the mount is not in this namespace"});
  if (target->has(mount_flag::kLocked)) return std::unexpected(Error{EINVAL, "the mount is locked to its parent"});
  if (has(flags, UmountFlags::kForce) && !lock.core.capable(ns->owner, target->superblock->owner)) {
    return std::unexpected(Error{EPERM, "kForce needs to own the filesystem"});
  }
  return {};
}

Result<void> do_umount(NamespaceLock& lock, Ns* ns, Mount* target, bool root, UmountFlags flags) {
  Core& core = lock.core;
  if (Result<void> may = may_umount(lock, ns, target, root, flags); !may) return may;
  const bool process_root = target == ns->process_root.load(std::memory_order_relaxed);

  if (has(flags, UmountFlags::kExpire)) {
    if (process_root) return std::unexpected(Error{EINVAL, "the root cannot expire"});
    if (has(flags, UmountFlags::kForce) || has(flags, UmountFlags::kDetach)) {
      return std::unexpected(Error{EINVAL, "kExpire goes with neither kForce nor kDetach"});
    }
    {
      MutexLock hold(core.mount_lock.mutex);
      if (!target->children.empty() || target->counts.sum() != 1) {
        return std::unexpected(Error{EBUSY, "the mount is in use"});
      }
    }
    if (target->expiry_mark.exchange(1, std::memory_order_relaxed) == 0) {
      return std::unexpected(Error{EAGAIN, "marked for expiry; the next call unmounts it if nobody has used it"});
    }
  }
  if (process_root && !has(flags, UmountFlags::kDetach)) {
    // Linux makes the filesystem read-only and says that all is well.
    if (!core.capable(ns->owner, target->superblock->owner)) {
      return std::unexpected(Error{EPERM, "making the root read-only needs to own its filesystem"});
    }
    lock.made_read_only = target->superblock->filesystem;
    return {};
  }
  const MountWrite write(core.mount_lock);
  if (!target->has_parent()) return std::unexpected(Error{EINVAL, "the namespace's own root"});
  if (has(flags, UmountFlags::kDetach)) {
    umount_tree(lock, target, UmountHow{.propagate = true});
    lock.unmounted.origin = Origin::kLazy;
    return {};
  }
  if (propagate_mount_busy(core, target)) return std::unexpected(Error{EBUSY, "the mount is in use"});
  umount_tree(lock, target, UmountHow{.sync = true, .propagate = true});
  lock.unmounted.origin = Origin::kUmount;
  return {};
}

}  // namespace unmoor::tree
