// SPDX-License-Identifier: MIT
// Path lookup.
//
// RCU-walk: inside a read section, sample the sequence count, walk without writing anything shared, look at the count
// again. If it has moved, what was found may be a mixture of two trees: start over. After a few attempts the walk is
// made under the mount lock instead. (Linux's ref-walk takes references on the way because its filesystems may block;
// ours answer at once.) The memory of everything on the way stays until the read section ends.
//
// A writer, under the namespace lock, uses the same walk: nothing can change under it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <unmoor/tree/error.h>
#include <unmoor/tree/mount_namespace.h>

#include "tree/core.h"

namespace unmoor::tree {

inline constexpr std::size_t kPathMax = 4096;  // of an argument, with the NUL that C would have
inline constexpr std::size_t kNameMax = 255;
inline constexpr std::size_t kInsideMax = 8192;  // of a path inside a filesystem

enum class Final : std::uint8_t {
  kAsIs,        // where the path leads; what is mounted on the root itself does not count ("/")
  kMountpoint,  // umount's: also through mounts on the end of the path
};

// A place that a walk has reached. Big: lives on the stack of whoever walks.
struct Walk {
  Mount* mount = nullptr;
  std::uint64_t hash = 0;
  std::size_t length = 0;  // of `text`
  FileKind kind = FileKind::kNothing;
  char text[kInsideMax];  // the path inside the filesystem, "" for its root

  [[nodiscard]] std::string_view path() const { return {text, length}; }
  [[nodiscard]] std::string_view shown() const { return length == 0 ? std::string_view("/") : path(); }
  [[nodiscard]] bool at_root() const { return length == mount->root->length; }
};

// Where a walk begins, and the root that ".." does not get past.
struct Start {
  Mount* mount;
  std::string_view path;
  std::uint64_t hash;
  Mount* root;
  const Place* root_place;
};

// One walk; sees whatever it sees. Inside a read section, or under the namespace or mount lock.
[[nodiscard]] Result<void> walk_once(const Core& core, const Start& start, std::string_view path, Final final,
                                     Walk& walk);
// From the root of `ns`. The same conditions.
[[nodiscard]] Result<void> walk_from_root(const Ns& ns, std::string_view path, Final final, Walk& walk);

// An RCU-walk from the root of `ns`, with retries and the fallback. Inside a read section; on success what `walk` shows
// was in the tree together at one moment during the call. With kReference the mount has been counted for the caller.
enum class Take : std::uint8_t { kNothing, kReference };
[[nodiscard]] Result<void> rcu_walk(const Ns& ns, const Start* from, std::string_view path, Take take, Walk& walk);

}  // namespace unmoor::tree
