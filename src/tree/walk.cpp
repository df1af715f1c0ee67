// SPDX-License-Identifier: MIT
#include "tree/walk.h"

#include <cerrno>
#include <cstring>

#include "sync/pause.h"
#include "tree/path_hash.h"
#include "tree/put.h"

namespace unmoor::tree {
namespace {

constexpr int kAttempts = 16;
// Some ten microseconds: a writer that is preempted in the middle is not waited for.
constexpr int kLooksForAnEnd = 1000;

[[nodiscard]] std::unexpected<Error> no(int code, const char* why) {
  return std::unexpected(Error{code, why});
}

void stand_at(Walk& walk, Mount* mount, std::string_view path, std::uint64_t hash) {
  walk.mount = mount;
  walk.hash = hash;
  walk.length = path.size();
  std::memcpy(walk.text, path.data(), path.size());
}

// Onto whatever is mounted here, to the top of the stack.
void cross(const Core& core, Walk& walk) {
  while (true) {
    if (walk.mount->child_count.load(std::memory_order_acquire) == 0) return;
    Mount* const child = walk.at_root() ? walk.mount->overmount.load(std::memory_order_acquire)
                                        : core.table.find(walk.mount, walk.hash, walk.path());
    if (child == nullptr) return;
    const Place* const root = child->root;
    stand_at(walk, child, root->path(), root->hash);
  }
}

[[nodiscard]] FileKind kind_here(const Walk& walk) {
  // The root of a mount exists, and does not change its kind.
  return walk.at_root() ? walk.mount->root->kind : walk.mount->superblock->filesystem->kind(walk.shown());
}

[[nodiscard]] bool at(const Walk& walk, const Mount* mount, const Place* place) {
  return walk.mount == mount && walk.length == place->length && walk.path() == place->path();
}

// ".." out of a directory; through the roots of mounts, but not past the walk's root.
void go_up(const Core& core, const Start& start, Walk& walk) {
  while (!at(walk, start.root, start.root_place)) {
    if (!walk.at_root()) {
      const std::size_t slash = walk.path().rfind('/');
      if (slash == std::string_view::npos) break;  // a root and a mount of two different moments: the count will tell
      walk.length = slash;
      walk.hash = hash_path(walk.path());
      break;
    }
    Mount* const parent = walk.mount->parent.load(std::memory_order_acquire);
    const Place* const place = walk.mount->mountpoint.load(std::memory_order_acquire);
    if (parent == walk.mount || place == nullptr) break;  // the top of a tree that is in no namespace, or the real root
    stand_at(walk, parent, place->path(), place->hash);
  }
  cross(core, walk);
}

// Why there is nothing at walk.path(): the first name of it that is missing, or that is no directory.
[[nodiscard]] std::unexpected<Error> missing(const Walk& walk) {
  const Filesystem& filesystem = *walk.mount->superblock->filesystem;
  const std::string_view path = walk.path();
  for (std::size_t end = path.find('/', walk.mount->root->length + 1); end != std::string_view::npos;
       end = path.find('/', end + 1)) {
    const FileKind kind = filesystem.kind(path.substr(0, end));
    if (kind == FileKind::kNothing) break;
    if (kind == FileKind::kOther) return no(ENOTDIR, "a name on the way is not a directory");
  }
  return no(ENOENT, "no such file or directory");
}

}  // namespace

Result<void> walk_once(const Core& core, const Start& start, std::string_view path, Final final, Walk& walk) {
  if (path.empty()) return no(ENOENT, "an empty path");
  if (path.size() >= kPathMax) return no(ENAMETOOLONG, "the path is too long");
  stand_at(walk, start.mount, start.path, start.hash);
  bool must_be_directory = false;
  while (true) {
    const std::size_t name_at = path.find_first_not_of('/');
    if (name_at == std::string_view::npos) {
      must_be_directory = must_be_directory || !path.empty();
      break;
    }
    path.remove_prefix(name_at);
    const std::string_view name = path.substr(0, path.find('/'));
    path.remove_prefix(name.size());
    must_be_directory = false;
    if (name == ".") {
      must_be_directory = true;
      continue;
    }
    if (name == "..") {
      const FileKind kind = kind_here(walk);
      if (kind == FileKind::kNothing) return missing(walk);
      if (kind != FileKind::kDirectory) return no(ENOTDIR, "a name on the way is not a directory");
      go_up(core, start, walk);
      continue;
    }
    if (name.size() > kNameMax) {
      const FileKind kind = kind_here(walk);
      if (kind == FileKind::kNothing) return missing(walk);
      if (kind != FileKind::kDirectory) return no(ENOTDIR, "a name on the way is not a directory");
      return no(ENAMETOOLONG, "a name in the path is too long");
    }
    if (name.find('\0') != std::string_view::npos) return no(EINVAL, "a NUL byte in the path");
    if (walk.length + 1 + name.size() > kInsideMax) return no(ENAMETOOLONG, "too deep inside the filesystem");
    if (walk.at_root() && walk.mount->root->kind != FileKind::kDirectory) {
      return no(ENOTDIR, "a name on the way is not a directory");
    }
    walk.text[walk.length] = '/';
    std::memcpy(walk.text + walk.length + 1, name.data(), name.size());
    walk.length += 1 + name.size();
    walk.hash = hash_component(walk.hash, name);
    cross(core, walk);
  }
  if (final == Final::kMountpoint) cross(core, walk);
  walk.kind = kind_here(walk);
  if (walk.kind == FileKind::kNothing) return missing(walk);
  if (must_be_directory && walk.kind != FileKind::kDirectory) return no(ENOTDIR, "the path ends in a slash");
  return {};
}

namespace {

// Linux's failed lookup has held the mount in which it failed, and clears its expiry mark when it lets go.
void used(const Walk& walk) {
  if (walk.mount != nullptr && walk.mount->expiry_mark.load(std::memory_order_relaxed) != 0) {
    walk.mount->expiry_mark.store(0, std::memory_order_relaxed);
  }
}

[[nodiscard]] Start start_at_root(const Ns& ns) {
  Mount* const root = ns.process_root.load(std::memory_order_acquire);
  const Place* const place = ns.process_root_place.load(std::memory_order_acquire);
  return {.mount = root, .path = place->path(), .hash = place->hash, .root = root, .root_place = place};
}

// The count once no change is under way, as it mostly is within a microsecond; still odd when it lasts.
[[nodiscard]] std::uint64_t settled(const MountLock& lock) {
  std::uint64_t sequence = lock.sequence.load(std::memory_order_acquire);
  for (int looks = 0; (sequence & 1) != 0 && looks < kLooksForAnEnd; ++looks) {
    pause_briefly();
    sequence = lock.sequence.load(std::memory_order_acquire);
  }
  return sequence;
}

}  // namespace

Result<void> walk_from_root(const Ns& ns, std::string_view path, Final final, Walk& walk) {
  return walk_once(*ns.core, start_at_root(ns), path, final, walk);
}

Result<void> rcu_walk(const Ns& ns, const Start* from, std::string_view path, Take take, Walk& walk) {
  Core& core = *ns.core;
  const auto once = [&] {
    Start start = start_at_root(ns);
    if (from != nullptr) {
      start.mount = from->mount;
      start.path = from->path;
      start.hash = from->hash;
    }
    return walk_once(core, start, path, Final::kAsIs, walk);
  };
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const std::uint64_t sequence = settled(core.mount_lock);
    if ((sequence & 1) != 0) break;
    Result<void> found = once();
    if (core.mount_lock.sequence.load(std::memory_order_relaxed) != sequence) continue;
    if (!found && take == Take::kReference) used(walk);
    if (!found || take == Take::kNothing) return found;
    if (legitimize(core, walk.mount, sequence)) return {};
  }
  count(core.counters.walk_fallbacks);
  MutexLock lock(core.mount_lock.mutex);
  Result<void> found = once();
  if (take == Take::kReference) {
    if (found)
      walk.mount->counts.get();
    else
      used(walk);
  }
  return found;
}

}  // namespace unmoor::tree
