// SPDX-License-Identifier: MIT
// pivot_root(2): the mount at new_root becomes the root, the old root goes to put_old.
#include <unmoor/tree/mount_namespace.h>

#include "tree/attach.h"
#include "tree/ns_life.h"
#include "tree/operation.h"
#include "tree/path_hash.h"

namespace unmoor::tree {
namespace {

// Whether `path` of `mount` is below `root_path` of `root`.
[[nodiscard]] bool is_reachable(const Mount* mount, std::string_view path, const Mount* root,
                                std::string_view root_path) {
  while (mount != root && mount->has_parent()) {
    path = mount->on()->path();
    mount = mount->up();
  }
  return mount == root && is_below(path, root_path);
}

}  // namespace

Result<void> MountNamespace::pivot_root(std::string_view new_path, std::string_view put_old) {
  Core& core = *ns_->core;
  if (Result<void> may = core.may_wait(); !may) return may;
  NamespaceLock lock(core);
  Walk fresh;
  if (Result<void> found = look_up(lock, *ns_, new_path, fresh); !found) return found;
  if (fresh.kind != FileKind::kDirectory) return refuse(ENOTDIR, "the new root is not a directory");
  Walk old_walk;
  if (Result<void> found = look_up(lock, *ns_, put_old, old_walk); !found) return found;
  if (old_walk.kind != FileKind::kDirectory) return refuse(ENOTDIR, "the place for the old root is not a directory");
  Result<Target> found = find_target(lock, old_walk);
  if (!found) return std::unexpected(found.error());
  const Target old = *found;

  Mount* const root = ns_->process_root.load(std::memory_order_relaxed);
  Place* const root_place = ns_->process_root_place.load(std::memory_order_relaxed);
  Mount* const new_root = fresh.mount;
  const auto check = [&]() -> Result<void> {
    if (old.mount->shared() || new_root->up()->shared() || root->up()->shared()) {
      return refuse(EINVAL, "put_old, or the parent of one of the roots, is shared");
    }
    if (root->in() != ns_ || new_root->in() != ns_) return refuse(EINVAL, "a root is not in this namespace");
    if (new_root->has(mount_flag::kLocked)) return refuse(EINVAL, "the new root is locked to its parent");
    if (new_root == root || old.mount == root) return refuse(EBUSY, "new root or put_old is on the root mount");
    if (root_place != root->root) return refuse(EINVAL, "the root is not the root of a mount");
    if (!root->has_parent()) return refuse(EINVAL, "the namespace's own root");
    if (!fresh.at_root()) return refuse(EINVAL, "the new root is not the root of a mount");
    if (!new_root->has_parent()) return refuse(EINVAL, "the namespace's own root");
    if (!is_reachable(old.mount, old.place->path(), new_root, fresh.path())) {
      return refuse(EINVAL, "put_old is not below the new root");
    }
    if (!is_reachable(new_root, fresh.path(), root, root_place->path())) {
      return refuse(EINVAL, "the new root is not below the root");
    }
    return {};
  };
  const Result<void> may = check();
  if (may) {
    const MountWrite write(core.mount_lock);
    Mount* const root_parent = root->up();
    Place* const root_on = root->on();
    PlaceTable::ref(root_on);
    unhang(core, new_root, lock.dropped);
    if (root->has(mount_flag::kLocked)) {
      new_root->raise(mount_flag::kLocked);
      root->lower(mount_flag::kLocked);
    }
    hang(core, new_root, root_parent, root_on);
    unhang(core, root, lock.dropped);
    hang(core, root, old.mount, old.place);
    put_place(core, root_on);
    // Whoever had the old root as root has the new one; neither reference can be the last.
    new_root->counts.get();
    PlaceTable::ref(new_root->root);
    set_process_root(ns_, new_root, new_root->root);
    root->counts.put();
    ns_->event.fetch_add(1, std::memory_order_relaxed);
  }
  put_place(core, old.place);
  if (may) put_place(core, root_place);
  return may;
}

}  // namespace unmoor::tree
