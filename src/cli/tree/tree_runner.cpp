// SPDX-License-Identifier: MIT
#include "cli/tree/tree_runner.h"

#include <atomic>
#include <cerrno>
#include <linux/mount.h>
#include <memory>
#include <set>
#include <string_view>
#include <sys/mount.h>
#include <utility>

#include "cli/tree/attribute_words.h"
#include "sync/mutex.h"

namespace unmoor::cli::tree {
namespace {

namespace mt = unmoor::tree;

// What a tmpfs is to a script: directories and files that are made and never removed.
class ScriptFilesystem : public mt::Filesystem {
 public:
  [[nodiscard]] mt::FileKind kind(std::string_view path) const noexcept override {
    if (path == "/") return mt::FileKind::kDirectory;
    MutexLock lock(mutex_);
    if (directories_.contains(path)) return mt::FileKind::kDirectory;
    return files_.contains(path) ? mt::FileKind::kOther : mt::FileKind::kNothing;
  }
  void shutdown() override {}
  void make_read_only() noexcept override { read_only_ = true; }

  [[nodiscard]] bool read_only() const { return read_only_; }
  void add(std::string path, mt::FileKind kind) {
    MutexLock lock(mutex_);
    (kind == mt::FileKind::kDirectory ? directories_ : files_).insert(std::move(path));
  }

 private:
  mutable Mutex mutex_;
  std::set<std::string, std::less<>> directories_ UNMOOR_GUARDED_BY(mutex_);
  std::set<std::string, std::less<>> files_ UNMOOR_GUARDED_BY(mutex_);
  std::atomic<bool> read_only_{false};
};

template <typename T>
[[nodiscard]] int code_of(const mt::Result<T>& result) {
  return result ? 0 : result.error().code;
}

// mkdir(2) and mknod(2): what is there is EEXIST, also on a read-only mount.
int make(mt::MountNamespace& ns, std::string_view path, mt::FileKind kind) {
  if (path.empty()) return ENOENT;
  std::string_view bare = path;
  while (bare.ends_with('/'))
    bare.remove_suffix(1);
  const std::size_t slash = bare.rfind('/');
  const std::string_view name = slash == std::string_view::npos ? bare : bare.substr(slash + 1);
  const std::string_view above = slash == std::string_view::npos ? std::string_view() : bare.substr(0, slash);
  const std::string parent = std::string(above) + "/";
  if (name.empty()) return EEXIST;  // the root
  const mt::Result<mt::Pin> directory = ns.pin(parent);
  if (!directory) return directory.error().code;
  if (name == "." || name == "..") return EEXIST;
  if (name.size() > 255) return ENAMETOOLONG;
  auto& filesystem = static_cast<ScriptFilesystem&>(directory->filesystem());
  const std::string inside = (directory->path() == "/" ? std::string() : directory->path()) + "/" + std::string(name);
  if (filesystem.kind(inside) != mt::FileKind::kNothing) return EEXIST;
  const bool slash_after_file = kind == mt::FileKind::kOther && bare.size() != path.size();
  if (slash_after_file) return ENOENT;
  if (directory->options().attributes.has(mt::Attribute::kReadOnly) || filesystem.read_only()) return EROFS;
  filesystem.add(inside, kind);
  return 0;
}

mt::Result<mt::AttributeChange> change_of(const AttributeBits& bits) {
  constexpr std::pair<std::uint64_t, mt::Attribute> kPairs[] = {
      {MOUNT_ATTR_RDONLY, mt::Attribute::kReadOnly},       {MOUNT_ATTR_NOSUID, mt::Attribute::kNoSuid},
      {MOUNT_ATTR_NODEV, mt::Attribute::kNoDev},           {MOUNT_ATTR_NOEXEC, mt::Attribute::kNoExec},
      {MOUNT_ATTR_NODIRATIME, mt::Attribute::kNoDirAtime}, {MOUNT_ATTR_NOSYMFOLLOW, mt::Attribute::kNoSymFollow},
  };
  mt::AttributeChange change;
  for (const auto& [bit, attribute] : kPairs) {
    if ((bits.set & bit) != 0) change.set = change.set | attribute;
    if ((bits.clear & bit) != 0) change.clear = change.clear | attribute;
  }
  if ((bits.clear & MOUNT_ATTR__ATIME) != 0) {
    switch (bits.set & MOUNT_ATTR__ATIME) {
      case MOUNT_ATTR_NOATIME:
        change.atime = mt::Atime::kNone;
        break;
      case MOUNT_ATTR_STRICTATIME:
        change.atime = mt::Atime::kStrict;
        break;
      default:
        change.atime = mt::Atime::kRelative;
    }
  }
  return change;
}

std::uint64_t bits_of(const mt::MountOptions& options) {
  std::uint64_t bits = 0;
  const mt::AttributeSet set = options.attributes;
  if (set.has(mt::Attribute::kReadOnly)) bits |= MOUNT_ATTR_RDONLY;
  if (set.has(mt::Attribute::kNoSuid)) bits |= MOUNT_ATTR_NOSUID;
  if (set.has(mt::Attribute::kNoDev)) bits |= MOUNT_ATTR_NODEV;
  if (set.has(mt::Attribute::kNoExec)) bits |= MOUNT_ATTR_NOEXEC;
  if (set.has(mt::Attribute::kNoDirAtime)) bits |= MOUNT_ATTR_NODIRATIME;
  if (set.has(mt::Attribute::kNoSymFollow)) bits |= MOUNT_ATTR_NOSYMFOLLOW;
  if (options.atime == mt::Atime::kNone) bits |= MOUNT_ATTR_NOATIME;
  if (options.atime == mt::Atime::kStrict) bits |= MOUNT_ATTR_STRICTATIME;
  return bits;
}

mt::UmountFlags flags_of(int flags) {
  auto result = mt::UmountFlags::kNone;
  if ((flags & MNT_FORCE) != 0) result = result | mt::UmountFlags::kForce;
  if ((flags & MNT_DETACH) != 0) result = result | mt::UmountFlags::kDetach;
  if ((flags & MNT_EXPIRE) != 0) result = result | mt::UmountFlags::kExpire;
  return result;
}

}  // namespace

TreeRunner::TreeRunner(mt::Universe universe, mt::MountNamespace first) : universe_(std::move(universe)) {
  namespaces_.emplace(kFirstNamespace, std::move(first));
}

Result<TreeRunner> TreeRunner::start(const mt::UniverseOptions& options) {
  mt::Result<mt::Universe> universe = mt::Universe::create(options);
  if (!universe) return fail(universe.error().code, universe.error().why);
  mt::Result<mt::MountNamespace> first = universe->create_namespace(std::make_shared<ScriptFilesystem>(), "root");
  if (!first) return fail(first.error().code, first.error().why);
  return TreeRunner(std::move(*universe), std::move(*first));
}

int TreeRunner::perform(mt::MountNamespace& ns, const Operation& operation) {
  const std::string& target = operation.target;
  const mt::Recursion recursion = operation.recursive ? mt::Recursion::kTree : mt::Recursion::kOne;
  switch (operation.verb) {
    case Verb::kMakeDirectory:
      return make(ns, target, mt::FileKind::kDirectory);
    case Verb::kMakeFile:
      return make(ns, target, mt::FileKind::kOther);
    case Verb::kMount:
      return code_of(ns.mount(std::make_shared<ScriptFilesystem>(), operation.name, target));
    case Verb::kBind:
      return code_of(ns.bind(operation.source, target, recursion));
    case Verb::kMove:
      return code_of(ns.move(operation.source, target));
    case Verb::kMoveBeneath:
      return code_of(ns.move_beneath(operation.source, target));
    case Verb::kSetGroup:
      return code_of(ns.set_group(operation.source, target));
    case Verb::kShared:
      return code_of(ns.change_propagation(target, mt::Propagation::kShared, recursion));
    case Verb::kSlave:
      return code_of(ns.change_propagation(target, mt::Propagation::kSlave, recursion));
    case Verb::kPrivate:
      return code_of(ns.change_propagation(target, mt::Propagation::kPrivate, recursion));
    case Verb::kUnbindable:
      return code_of(ns.change_propagation(target, mt::Propagation::kUnbindable, recursion));
    case Verb::kSetAttributes:
      return code_of(ns.set_attributes(target, *change_of(operation.attributes), recursion));
    case Verb::kUnmount:
      return code_of(ns.umount(target, flags_of(operation.umount_flags)));
    case Verb::kPivotRoot:
      return code_of(ns.pivot_root(operation.source, target));
    case Verb::kCopyNamespace:
    case Verb::kPin:
    case Verb::kUnpin:
    case Verb::kMountInfo:
      break;  // not done by perform()
  }
  return EINVAL;
}

Result<int> TreeRunner::run(const Operation& operation) {
  if (operation.verb == Verb::kMountInfo) return namespaces_.contains(operation.name) ? 0 : EINVAL;
  if (operation.verb == Verb::kUnpin) return pins_.erase(operation.name) == 1 ? 0 : EINVAL;
  const bool copy = operation.verb == Verb::kCopyNamespace;
  if (copy && namespaces_.contains(operation.name)) return EINVAL;
  if (operation.verb == Verb::kPin && pins_.contains(operation.name)) return EINVAL;
  const auto ns = namespaces_.find(copy ? operation.source : operation.ns);
  if (ns == namespaces_.end()) return EINVAL;
  if (copy) {
    mt::Result<mt::MountNamespace> made =
        ns->second.copy(operation.less_privileged ? mt::OwnerChange::kLessPrivileged : mt::OwnerChange::kSame);
    if (!made) return made.error().code;
    namespaces_.emplace(operation.name, std::move(*made));
    return 0;
  }
  if (operation.verb == Verb::kPin) {
    mt::Result<mt::Pin> pin = ns->second.pin(operation.target);
    if (!pin) return pin.error().code;
    pins_.emplace(operation.name, std::move(*pin));
    return 0;
  }
  return perform(ns->second, operation);
}

Result<Listing> TreeRunner::list(const std::string& name) const {
  const auto ns = namespaces_.find(name);
  if (ns == namespaces_.end()) return fail(EINVAL, "list", name);
  const mt::Result<std::vector<mt::MountStatus>> all = ns->second.list_status();
  if (!all) return fail(all.error().code, "list", name);
  Listing listing;
  listing.reserve(all->size());
  for (const mt::MountStatus& mount : *all) {
    listing.push_back({.id = static_cast<std::uint64_t>(mount.id),
                       .parent = static_cast<std::uint64_t>(mount.parent),
                       .mount_point = mount.mount_point,
                       .root = mount.root,
                       .filesystem = mount.filesystem,
                       .options = attribute_options(bits_of(mount.options)),
                       .shared = mount.peer_group,
                       .master = mount.master,
                       .unbindable = mount.unbindable});
  }
  return listing;
}

}  // namespace unmoor::cli::tree
