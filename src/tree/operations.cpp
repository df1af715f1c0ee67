// SPDX-License-Identifier: MIT
// mount, bind, move, umount, and detached trees: the checks, in Linux's order.
#include <new>
#include <utility>

#include <unmoor/tree/mount_namespace.h>

#include "tree/attach.h"
#include "tree/clone.h"
#include "tree/ns_life.h"
#include "tree/operation.h"
#include "tree/path_hash.h"
#include "tree/propagation.h"
#include "tree/umount.h"

namespace unmoor::tree {
namespace {

// A place that is counted for the length of an operation; what was interned for nothing goes again.
class PlaceHold {
 public:
  PlaceHold(Core& core, Place* place) : core_(core), place_(place) {}
  ~PlaceHold() { put_place(core_, place_); }
  PlaceHold(const PlaceHold&) = delete;
  PlaceHold& operator=(const PlaceHold&) = delete;

 private:
  Core& core_;
  Place* place_;
};

[[nodiscard]] bool is_ancestor(const Mount* ancestor, const Mount* mount) {
  while (mount != ancestor && mount->has_parent())
    mount = mount->up();
  return mount == ancestor;
}

[[nodiscard]] bool has_locked_children(Mount* mount, std::string_view below) {
  for (Mount* const child : mount->children) {
    if (is_below(child->on()->path(), below) && child->has(mount_flag::kLocked)) return true;
  }
  return false;
}

[[nodiscard]] bool contains_unbindable(Mount* top) {
  for (Mount* m = top; m != nullptr; m = next_in_tree(m, top)) {
    if (m->unbindable()) return true;
  }
  return false;
}

[[nodiscard]] bool is_directory(const Mount* mount) {
  return mount->root->kind == FileKind::kDirectory;
}

[[nodiscard]] Result<void> graft(NamespaceLock& lock, Ns* ns, Mount* mount, const Target& target) {
  if (target.directory != is_directory(mount)) {
    return refuse(ENOTDIR, "a directory is mounted on a directory only, a file on a file");
  }
  return attach_recursive(lock, mount, target.mount, target.place, ns->owner);
}

// The clone that bind and clone_tree make.
[[nodiscard]] Result<Mount*> clone_source(NamespaceLock& lock, Ns* ns, const Walk& from, Recursion recursion) {
  Core& core = lock.core;
  Mount* const source = from.mount;
  if (source->unbindable()) return refuse(EINVAL, "the source is unbindable");
  if (source->in() != ns) return refuse(EINVAL, "the source is not in this namespace");
  if (recursion == Recursion::kOne && has_locked_children(source, from.path())) {
    return refuse(EINVAL, "the source has locked mounts below it, which a bind of one mount would reveal");
  }
  Place* const root = core.places.get(source->superblock, from.path(), from.hash);
  if (root == nullptr) return refuse(ENOMEM, "no memory");
  const PlaceHold hold(core, root);
  if (recursion == Recursion::kTree) return copy_tree(lock, source, root, {});
  Mount* const clone = clone_mount(lock, source, root, {});
  if (clone == nullptr) return refuse(ENOMEM, "no memory for a mount");
  return clone;
}

void discard(NamespaceLock& lock, Mount* tree) {
  const MountWrite write(lock.core.mount_lock);
  umount_unattached(lock, tree);
}

[[nodiscard]] Result<void> may_go_beneath(Ns* ns, Mount* from, Mount* to, const Place* place) {
  Mount* const parent = to->up();
  if (to->has(mount_flag::kLocked)) return refuse(EINVAL, "the mount at the target is locked to its parent");
  if (from->over() != nullptr) return refuse(EINVAL, "something is mounted on the source");
  if (to == ns->process_root.load(std::memory_order_relaxed)) return refuse(EINVAL, "nothing goes beneath the root");
  if (parent == ns->root) return refuse(EINVAL, "nothing goes beneath what stands on the namespace's own root");
  if (is_ancestor(to, from)) return refuse(EINVAL, "the source is below the target");
  if (would_overmount(parent, to, place)) return refuse(EINVAL, "the target's parent propagates to the target");
  if (from->in() == ns && would_overmount(parent, from, place)) {
    return refuse(EINVAL, "the target's parent propagates to the source");
  }
  return {};
}

enum class Where : std::uint8_t { kOnTop, kBeneath };

[[nodiscard]] Result<void> move_mount(NamespaceLock& lock, Ns* ns, Mount* from, bool from_is_root, bool from_directory,
                                      const Walk& to, Where where) {
  Core& core = lock.core;
  if (!from_is_root) return refuse(EINVAL, "the source is not the root of a mount");
  if ((to.kind == FileKind::kDirectory) != from_directory) {
    return refuse(EINVAL, "a directory is mounted on a directory only, a file on a file");
  }
  Target target;
  Mount* cover = nullptr;  // kBeneath: what the source goes under
  if (where == Where::kOnTop) {
    Result<Target> found = find_target(lock, to);
    if (!found) return std::unexpected(found.error());
    target = *found;
  } else {
    if (!to.at_root()) return refuse(EINVAL, "the target is not the root of a mount");
    if (to.mount->in() == nullptr) return refuse(ENOENT, "the target is detached");
    cover = topmost(to.mount);
    if (!cover->has_parent()) return refuse(EINVAL, "the target has no parent");
    target = {.mount = cover->up(), .place = cover->on(), .directory = cover->on()->kind == FileKind::kDirectory};
    PlaceTable::ref(target.place);
  }
  const PlaceHold hold(core, target.place);

  if (from->in() == ns) {
    if (!from->has_parent()) return refuse(EINVAL, "the source is the namespace's own root");
    if (from->has(mount_flag::kLocked)) return refuse(EINVAL, "the source is locked to its parent");
    if (target.mount->in() != ns) return refuse(EINVAL, "the target is not in this namespace");
    if (from->up()->shared()) return refuse(EINVAL, "the source's parent is shared");
  } else {
    Ns* const anonymous = from->in();
    if (anonymous == nullptr || !anonymous->anonymous || anonymous->root != from) {
      return refuse(EINVAL, "the source is neither in this namespace nor a detached tree");
    }
    if (anonymous == target.mount->in()) return refuse(EINVAL, "a tree cannot be mounted on itself");
    if (target.mount->in() != ns) return refuse(EINVAL, "the target is not in this namespace");
  }
  if (where == Where::kBeneath) {
    if (Result<void> may = may_go_beneath(ns, from, cover, target.place); !may) return may;
  }
  if (target.mount->shared() && contains_unbindable(from)) {
    return refuse(EINVAL, "the source contains unbindable mounts and the target is shared");
  }
  if (is_ancestor(from, target.mount)) return refuse(ELOOP, "the target is below the source");
  return attach_recursive(lock, from, target.mount, target.place, ns->owner);
}

}  // namespace

Result<Target> find_target(NamespaceLock& lock, const Walk& walk) {
  if (walk.mount->in() == nullptr) return refuse(ENOENT, "the target is detached");
  Mount* const there = walk.at_root() ? walk.mount->over() : lock.core.table.find(walk.mount, walk.hash, walk.path());
  if (there != nullptr) {
    Mount* const top = topmost(there);
    PlaceTable::ref(top->root);
    return Target{.mount = top, .place = top->root, .directory = is_directory(top)};
  }
  Place* const place = lock.core.places.get(walk.mount->superblock, walk.path(), walk.hash);
  if (place == nullptr) return refuse(ENOMEM, "no memory");
  return Target{.mount = walk.mount, .place = place, .directory = place->kind == FileKind::kDirectory};
}

Result<MountId> MountNamespace::mount(std::shared_ptr<Filesystem> filesystem, std::string_view name,
                                      std::string_view path, const MountOptions& options) {
  Core& core = *ns_->core;
  if (Result<void> may = core.may_wait(); !may) return std::unexpected(may.error());
  Mount* fresh = nullptr;
  Error error{};
  MountId id{};
  {
    NamespaceLock lock(core);
    Walk walk;
    if (Result<void> found = look_up(lock, *ns_, path, walk); !found) return std::unexpected(found.error());
    Result<Mount*> made = mount_filesystem(core, std::move(filesystem), name, options, ns_->owner);
    if (!made) return std::unexpected(made.error());
    const auto attach = [&]() -> Result<void> {
      Result<Target> target = find_target(lock, walk);
      if (!target) return std::unexpected(target.error());
      const PlaceHold hold(core, target->place);
      if (target->mount->in() != ns_) return refuse(EINVAL, "the target is not in this namespace");
      if (target->mount->superblock == (*made)->superblock && target->place == target->mount->root) {
        return refuse(EBUSY, "the same filesystem is mounted there already");
      }
      return graft(lock, ns_, *made, *target);
    };
    if (Result<void> done = attach(); !done) {
      error = done.error();
      fresh = *made;
    } else {
      id = MountId{(*made)->id};
    }
  }
  if (fresh == nullptr) return id;
  discard_mount(core, fresh);
  return std::unexpected(error);
}

Result<void> MountNamespace::bind(std::string_view from, std::string_view to, Recursion recursion) {
  Core& core = *ns_->core;
  if (Result<void> may = core.may_wait(); !may) return may;
  NamespaceLock lock(core);
  Walk target_walk;
  if (Result<void> found = look_up(lock, *ns_, to, target_walk); !found) return found;
  if (from.empty()) return refuse(EINVAL, "no source");
  Walk source;
  if (Result<void> found = look_up(lock, *ns_, from, source); !found) return found;
  Result<Target> target = find_target(lock, target_walk);
  if (!target) return std::unexpected(target.error());
  const PlaceHold hold(core, target->place);
  if (target->mount->in() != ns_) return refuse(EINVAL, "the target is not in this namespace");
  Result<Mount*> clone = clone_source(lock, ns_, source, recursion);
  if (!clone) return std::unexpected(clone.error());
  Result<void> done = graft(lock, ns_, *clone, *target);
  if (!done) discard(lock, *clone);
  return done;
}

Result<void> MountNamespace::move(std::string_view from, std::string_view to) {
  if (Result<void> may = ns_->core->may_wait(); !may) return may;
  NamespaceLock lock(*ns_->core);
  Walk target;
  if (Result<void> found = look_up(lock, *ns_, to, target); !found) return found;
  if (from.empty()) return refuse(EINVAL, "no source");
  Walk source;
  if (Result<void> found = look_up(lock, *ns_, from, source); !found) return found;
  return move_mount(lock, ns_, source.mount, source.at_root(), source.kind == FileKind::kDirectory, target,
                    Where::kOnTop);
}

Result<void> MountNamespace::move_beneath(std::string_view from, std::string_view to) {
  if (Result<void> may = ns_->core->may_wait(); !may) return may;
  NamespaceLock lock(*ns_->core);
  Walk target;
  if (Result<void> found = look_up(lock, *ns_, to, target); !found) return found;
  Walk source;
  if (Result<void> found = look_up(lock, *ns_, from, source); !found) return found;
  return move_mount(lock, ns_, source.mount, source.at_root(), source.kind == FileKind::kDirectory, target,
                    Where::kBeneath);
}

Result<void> MountNamespace::set_group(std::string_view from_path, std::string_view to_path) {
  if (Result<void> may = ns_->core->may_wait(); !may) return may;
  NamespaceLock lock(*ns_->core);
  Walk to_walk;
  if (Result<void> found = look_up(lock, *ns_, to_path, to_walk); !found) return found;
  Walk from_walk;
  if (Result<void> found = look_up(lock, *ns_, from_path, from_walk); !found) return found;
  Mount* const from = from_walk.mount;
  Mount* const to = to_walk.mount;
  if (from->in() == nullptr) return refuse(EINVAL, "the source is detached");
  if (to->in() == nullptr) return refuse(ENOENT, "the target is detached");
  if (!from_walk.at_root()) return refuse(EINVAL, "the source is not the root of a mount");
  if (!to_walk.at_root()) return refuse(EINVAL, "the target is not the root of a mount");
  if (from->superblock != to->superblock) return refuse(EINVAL, "source and target are different filesystems");
  if (!is_below(to->root->path(), from->root->path()))
    return refuse(EINVAL, "the target shows what the source does not");
  if (has_locked_children(from, to->root->path())) return refuse(EINVAL, "the source has locked mounts below it");
  if (to->shared() || to->master != nullptr) return refuse(EINVAL, "the target is not private");
  if (!from->shared() && from->master == nullptr) return refuse(EINVAL, "the source is private");
  if (from->master != nullptr) {
    from->master->slaves.insert_after(from, to);
    to->master = from->master;
  }
  if (from->shared()) {
    to->group = from->group;
    static_cast<Link<PeerTag>*>(to)->insert_after(*from);
    to->mark(mount_mark::kShared);
    to->unmark(mount_mark::kUnbindable);
  }
  return {};
}

Result<void> MountNamespace::umount(std::string_view path, UmountFlags flags) {
  Core& core = *ns_->core;
  if (Result<void> may = core.may_wait(); !may) return may;
  const auto bits = static_cast<std::uint32_t>(flags);
  if ((bits & ~std::uint32_t{15}) != 0) return refuse(EINVAL, "a flag that umount2(2) does not know");
  const bool force = (bits & static_cast<std::uint32_t>(UmountFlags::kForce)) != 0;
  std::shared_ptr<Filesystem> to_abort;
  {
    NamespaceLock lock(core);
    Walk walk;
    if (Result<void> found = look_up(lock, *ns_, path, walk, Final::kMountpoint); !found) return found;
    if (!force) return do_umount(lock, ns_, walk.mount, walk.at_root(), flags);
    if (may_umount(lock, ns_, walk.mount, walk.at_root(), flags)) {
      to_abort = walk.mount->superblock->filesystem;
    }
  }
  // Without the lock: it talks to a server. What is there may have changed when we look again.
  const bool expire = (bits & static_cast<std::uint32_t>(UmountFlags::kExpire)) != 0;
  if (to_abort != nullptr && !expire) to_abort->begin_umount();
  NamespaceLock lock(core);
  Walk walk;
  if (Result<void> found = look_up(lock, *ns_, path, walk, Final::kMountpoint); !found) return found;
  return do_umount(lock, ns_, walk.mount, walk.at_root(), flags);
}

Result<DetachedTree> MountNamespace::clone_tree(std::string_view path, Recursion recursion) {
  Core& core = *ns_->core;
  if (Result<void> may = core.may_wait(); !may) return std::unexpected(may.error());
  Ns* const anonymous = make_ns(core);
  if (anonymous == nullptr) return refuse(ENOMEM, "no memory");
  Error error{};
  {
    NamespaceLock lock(core);
    Walk walk;
    Result<Mount*> clone = std::unexpected(error);
    if (Result<void> found = look_up(lock, *ns_, path, walk); !found) {
      clone = std::unexpected(found.error());
    } else {
      clone = clone_source(lock, ns_, walk, recursion);
    }
    if (clone) {
      const MountWrite write(core.mount_lock);
      anonymous->anonymous = true;
      anonymous->origin = ns_->sequence;
      anonymous->owner = ns_->owner;
      anonymous->root = *clone;
      for (Mount* m = *clone; m != nullptr; m = next_in_tree(m, *clone)) {
        anonymous->add(m);
        ++anonymous->mount_count;
      }
      (*clone)->counts.get();
      return DetachedTree(*clone);
    }
    error = clone.error();
  }
  retire_ns(anonymous);
  return std::unexpected(error);
}

Result<void> MountNamespace::attach(DetachedTree& tree, std::string_view to) {
  if (Result<void> may = ns_->core->may_wait(); !may) return may;
  if (tree.root_ == nullptr || tree.root_->superblock->core != ns_->core) {
    return refuse(EINVAL, "the tree belongs to another universe");
  }
  NamespaceLock lock(*ns_->core);
  Walk target;
  if (Result<void> found = look_up(lock, *ns_, to, target); !found) return found;
  Mount* const root = tree.root_;
  root->expiry_mark.store(0, std::memory_order_relaxed);
  return move_mount(lock, ns_, root, true, is_directory(root), target, Where::kOnTop);
}

Result<MountNamespace> MountNamespace::copy(OwnerChange owner) {
  if (Result<void> may = ns_->core->may_wait(); !may) return std::unexpected(may.error());
  Result<Ns*> copied = copy_ns(ns_, owner);
  if (!copied) return std::unexpected(copied.error());
  return MountNamespace(*copied);
}

}  // namespace unmoor::tree
