// SPDX-License-Identifier: MIT
#include "tree/ns_life.h"

#include <cerrno>
#include <new>

#include "tree/attach.h"
#include "tree/clone.h"
#include "tree/path_hash.h"
#include "tree/propagation.h"
#include "tree/thread_frames.h"
#include "tree/umount.h"

namespace unmoor::tree {
namespace {

// What every namespace stands on: one empty directory.
class Nothing : public Filesystem {
 public:
  [[nodiscard]] FileKind kind(std::string_view path) const noexcept override {
    return path == "/" ? FileKind::kDirectory : FileKind::kNothing;
  }
  void shutdown() override {}
};

[[nodiscard]] std::unexpected<Error> no_memory() {
  return std::unexpected(Error{ENOMEM, "no memory"});
}

// Linux makes no user namespace for a process whose root is not the topmost mount on its namespace's own root.
bool is_chrooted(const Ns* ns) {
  const Mount* const top = topmost(ns->root);
  return ns->process_root.load(std::memory_order_relaxed) != top ||
         ns->process_root_place.load(std::memory_order_relaxed) != top->root;
}

// The namespace, just copied, moves to a new user namespace below. False: no memory.
bool make_owner(Core& core, Ns* ns) {
  try {
    core.owner_parents.push_back(ns->owner);
    ns->owner = core.owner_parents.size() - 1;
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

}  // namespace

std::uint32_t to_flags(const MountOptions& options) {
  std::uint32_t flags = options.attributes.bits();
  if (options.atime == Atime::kRelative) flags |= mount_flag::kRelAtime;
  if (options.atime == Atime::kNone) flags |= mount_flag::kNoAtime;
  return flags;
}

MountOptions to_options(std::uint32_t flags) {
  MountOptions options{.attributes = AttributeSet::from_bits(flags & mount_flag::kAttributes), .atime = Atime::kStrict};
  if ((flags & mount_flag::kRelAtime) != 0) options.atime = Atime::kRelative;
  if ((flags & mount_flag::kNoAtime) != 0) options.atime = Atime::kNone;
  return options;
}

Ns* make_ns(Core& core) {
  auto* const ns = new (std::nothrow) Ns;
  if (ns == nullptr) return nullptr;
  ns->what = Retired::What::kNs;
  ns->core = &core;
  core.ref();
  return ns;
}

void retire_ns(Ns* ns) {
  Core& core = *ns->core;
  core.retired.retire(ns);
  core.unref();
}

Result<Mount*> mount_filesystem(Core& core, std::shared_ptr<Filesystem> filesystem, std::string_view name,
                                const MountOptions& options, std::uint64_t owner) {
  if (filesystem == nullptr) return std::unexpected(Error{EINVAL, "no filesystem"});
  Superblock* superblock = nullptr;
  switch (Superblock::get(core, std::move(filesystem), name, owner, superblock)) {
    case 0:
      break;
    case ESTALE:
      return std::unexpected(Error{ESTALE, "the filesystem has been shut down"});
    case EBUSY:
      return std::unexpected(Error{EBUSY, "the filesystem belongs to another universe"});
    default:
      return no_memory();
  }
  Mount* const mount = make_mount(core, superblock, "", kRootHash, to_flags(options));
  if (mount == nullptr) return no_memory();
  return mount;
}

void set_process_root(Ns* ns, Mount* mount, Place* place) {
  ns->process_root.store(mount, std::memory_order_release);
  ns->process_root_place.store(place, std::memory_order_release);
}

Result<Ns*> create_ns(Core& core, std::shared_ptr<Filesystem> root, std::string_view name,
                      const MountOptions& options) {
  std::shared_ptr<Filesystem> nothing(new (std::nothrow) Nothing);
  if (nothing == nullptr) return no_memory();
  Result<Mount*> below = mount_filesystem(core, std::move(nothing), "none", {}, 0);
  if (!below) return std::unexpected(below.error());
  Result<Mount*> above = mount_filesystem(core, std::move(root), name, options, 0);
  if (!above) {
    discard_mount(core, *below);
    return std::unexpected(above.error());
  }
  Ns* const ns = make_ns(core);
  if (ns == nullptr) {
    discard_mount(core, *above);
    discard_mount(core, *below);
    return no_memory();
  }
  NamespaceLock lock(core);
  const MountWrite write(core.mount_lock);
  ns->sequence = core.next_ns++;
  ns->root = *below;
  ns->add(*below);
  ns->add(*above);
  ns->mount_count = 2;
  hang(core, *above, *below, (*below)->root);
  (*above)->counts.get();
  PlaceTable::ref((*above)->root);
  set_process_root(ns, *above, (*above)->root);
  return ns;
}

Result<Ns*> copy_ns(Ns* from, OwnerChange owner) {
  Core& core = *from->core;
  Ns* const ns = make_ns(core);
  if (ns == nullptr) return no_memory();
  Result<Mount*> copied = no_memory();
  {
    NamespaceLock lock(core);
    ns->sequence = core.next_ns++;
    ns->owner = from->owner;
    const bool less = owner == OwnerChange::kLessPrivileged;
    if (less && is_chrooted(from)) {
      copied = std::unexpected(Error{EPERM, "something is mounted on the root, or the root is elsewhere (chrooted)"});
    } else if (!less || make_owner(core, ns)) {
      copied = copy_tree(lock, from->root, from->root->root, CloneHow{.slave = less, .copy_unbindable = true});
    }
    if (copied) {
      core.table.reserve(1, core.mount_lock);
      const MountWrite write(core.mount_lock);
      if (less) lock_tree(*copied);
      ns->root = *copied;
      Mount* root = from->process_root.load(std::memory_order_relaxed);
      Place* const place = from->process_root_place.load(std::memory_order_relaxed);
      Mount* original = from->root;
      for (Mount* m = *copied; m != nullptr;
           m = next_in_tree(m, *copied), original = next_in_tree(original, from->root)) {
        ns->add(m);
        ++ns->mount_count;
        if (original == from->process_root.load(std::memory_order_relaxed)) root = m;
      }
      root->counts.get();
      PlaceTable::ref(place);
      set_process_root(ns, root, place);
    }
  }
  if (copied) return ns;
  retire_ns(ns);
  return std::unexpected(copied.error());
}

void destroy_ns(Ns* ns) {
  Core& core = *ns->core;
  Mount* const root = ns->process_root.load(std::memory_order_relaxed);
  Place* const place = ns->process_root_place.load(std::memory_order_relaxed);
  const bool may_wait = !ThreadFrame::inside(core);
  bool root_detached = false;
  {
    NamespaceLock lock(core);
    const MountWrite write(core.mount_lock);
    root_detached = root->in() != ns;
    umount_tree(lock, ns->root, {});
    // The process root's own reference goes first, so that an idle namespace is found idle. It is not the last one: the
    // tree's is still there.
    if (!root_detached) root->counts.put();
    if (!may_wait) core.pool.defer(lock.unmounted.mounts);
  }
  if (!may_wait) core.pool.kick();
  if (root_detached) put(core, root);
  put_place(core, place);
  retire_ns(ns);
}

}  // namespace unmoor::tree
