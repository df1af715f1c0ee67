// SPDX-License-Identifier: MIT
// What can be asked about a namespace: mountinfo, statmount(2), listmount(2).
#include <algorithm>
#include <cerrno>
#include <new>

#include <fmt/format.h>
#include <unmoor/tree/mount_namespace.h>

#include "tree/ns_life.h"
#include "tree/operation.h"
#include "tree/path_hash.h"

namespace unmoor::tree {
namespace {

// The path of the mount's root as seen from the root of the namespace. False: it cannot be seen.
bool mount_point(const Ns& ns, const Mount* mount, std::string& path) {
  const Mount* const root = ns.process_root.load(std::memory_order_relaxed);
  const Place* const root_place = ns.process_root_place.load(std::memory_order_relaxed);
  path.clear();
  std::string_view inside = mount->root->path();
  bool first = true;
  for (; mount != root; mount = mount->up()) {
    if (!mount->has_parent()) return false;
    if (!first) path.insert(0, inside.substr(mount->root->length));
    first = false;
    inside = mount->on()->path();
  }
  if (!is_below(inside, root_place->path())) return false;
  path.insert(0, inside.substr(root_place->length));
  if (path.empty()) path = "/";
  return true;
}

MountStatus describe(const Mount* mount, std::string path) {
  return MountStatus{
      .id = MountId{mount->id},
      .parent = MountId{mount->up()->id},
      .mount_point = std::move(path),
      .root = std::string(mount->root->shown()),
      .filesystem = mount->superblock->name,
      .options = to_options(mount->flags.load(std::memory_order_relaxed)),
      .peer_group = mount->shared() ? mount->group : 0,
      .master = mount->master == nullptr ? 0 : mount->master->group,
      .unbindable = mount->unbindable(),
      .locked = mount->has(mount_flag::kLocked),
  };
}

// Linux's escapes: space, tab, newline, backslash.
void append_escaped(std::string& out, std::string_view text) {
  for (const char c : text) {
    if (c == ' ' || c == '\t' || c == '\n' || c == '\\') {
      fmt::format_to(std::back_inserter(out), "\\{:03o}", static_cast<unsigned char>(c));
    } else {
      out.push_back(c);
    }
  }
}

std::string option_text(const MountOptions& options) {
  const AttributeSet set = options.attributes;
  std::string text = set.has(Attribute::kReadOnly) ? "ro" : "rw";
  if (set.has(Attribute::kNoSuid)) text += ",nosuid";
  if (set.has(Attribute::kNoDev)) text += ",nodev";
  if (set.has(Attribute::kNoExec)) text += ",noexec";
  if (options.atime == Atime::kNone) text += ",noatime";
  if (set.has(Attribute::kNoDirAtime)) text += ",nodiratime";
  if (options.atime == Atime::kRelative) text += ",relatime";
  if (set.has(Attribute::kNoSymFollow)) text += ",nosymfollow";
  return text;
}

}  // namespace

Result<std::vector<MountStatus>> MountNamespace::list_status() const {
  Core& core = *ns_->core;
  if (core.fork_guard.forked()) return refuse(ESTALE, "a tree does not live in the child of a fork");
  try {
    std::vector<MountStatus> all;
    MutexLock lock(core.namespace_lock);
    all.reserve(ns_->mount_count);
    std::string path;
    for (Mount* const mount : ns_->mounts) {
      if (mount_point(*ns_, mount, path)) all.push_back(describe(mount, path));
    }
    return all;
  } catch (const std::bad_alloc&) {
    return refuse(ENOMEM, "no memory");
  }
}

Result<std::string> MountNamespace::mountinfo() const {
  const Result<std::vector<MountStatus>> all = list_status();
  if (!all) return std::unexpected(all.error());
  try {
    std::string text;
    for (const MountStatus& mount : *all) {
      fmt::format_to(std::back_inserter(text), "{} {} ", static_cast<std::uint64_t>(mount.id),
                     static_cast<std::uint64_t>(mount.parent));
      append_escaped(text, mount.root);
      text.push_back(' ');
      append_escaped(text, mount.mount_point);
      text.push_back(' ');
      text += option_text(mount.options);
      if (mount.peer_group != 0) fmt::format_to(std::back_inserter(text), " shared:{}", mount.peer_group);
      if (mount.master != 0) fmt::format_to(std::back_inserter(text), " master:{}", mount.master);
      if (mount.unbindable) text += " unbindable";
      text += " - ";
      append_escaped(text, mount.filesystem);
      text.push_back('\n');
    }
    return text;
  } catch (const std::bad_alloc&) {
    return refuse(ENOMEM, "no memory");
  }
}

Result<MountStatus> MountNamespace::status(MountId id) const {
  Core& core = *ns_->core;
  if (core.fork_guard.forked()) return refuse(ESTALE, "a tree does not live in the child of a fork");
  try {
    MutexLock lock(core.namespace_lock);
    const Mount* mount = nullptr;
    {
      MutexLock hold(core.mount_lock.mutex);
      mount = core.by_id.find(static_cast<std::uint64_t>(id));
    }
    std::string path;
    if (mount == nullptr || mount->in() != ns_ || !mount_point(*ns_, mount, path)) {
      return refuse(ENOENT, "no such mount in this namespace");
    }
    return describe(mount, std::move(path));
  } catch (const std::bad_alloc&) {
    return refuse(ENOMEM, "no memory");
  }
}

Result<std::vector<MountId>> MountNamespace::list(MountId after, std::size_t max) const {
  Core& core = *ns_->core;
  if (core.fork_guard.forked()) return refuse(ESTALE, "a tree does not live in the child of a fork");
  try {
    std::vector<MountId> ids;
    MutexLock lock(core.namespace_lock);
    // From the mount `after` itself if it is still here, which makes a listing in pieces linear; else from the front.
    Mount* mount = nullptr;
    {
      MutexLock hold(core.mount_lock.mutex);
      mount = core.by_id.find(static_cast<std::uint64_t>(after));
    }
    if (mount != nullptr && mount->in() == ns_) {
      mount = ns_->mounts.next(mount);
    } else {
      mount = ns_->mounts.front();
      while (mount != nullptr && mount->id <= static_cast<std::uint64_t>(after))
        mount = ns_->mounts.next(mount);
    }
    std::string path;
    for (; mount != nullptr && ids.size() < max; mount = ns_->mounts.next(mount)) {
      if (mount_point(*ns_, mount, path)) ids.push_back(MountId{mount->id});
    }
    return ids;
  } catch (const std::bad_alloc&) {
    return refuse(ENOMEM, "no memory");
  }
}

std::uint64_t MountNamespace::event() const {
  return ns_->event.load(std::memory_order_relaxed);
}

}  // namespace unmoor::tree
