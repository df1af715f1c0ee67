// SPDX-License-Identifier: MIT
// What the operations of MountNamespace have in common.
#pragma once

#include <cerrno>
#include <string_view>

#include "tree/namespace_lock.h"
#include "tree/walk.h"

namespace unmoor::tree {

[[nodiscard]] inline std::unexpected<Error> refuse(int code, const char* why) {
  return std::unexpected(Error{code, why});
}

// Looks `path` up under the namespace lock. Whoever looks a mount up uses it, so its expiry mark goes; umount's own
// lookup does not count unless it fails.
[[nodiscard]] inline Result<void> look_up(NamespaceLock& lock, const Ns& ns, std::string_view path, Walk& walk,
                                          Final final = Final::kAsIs) {
  static_cast<void>(lock);
  Result<void> found = walk_from_root(ns, path, final, walk);
  if (walk.mount != nullptr && (!found || final == Final::kAsIs)) {
    walk.mount->expiry_mark.store(0, std::memory_order_relaxed);
  }
  return found;
}

// Where something that is mounted at `walk` goes: onto the topmost mount there. The place is counted for the caller.
struct Target {
  Mount* mount = nullptr;
  Place* place = nullptr;
  bool directory = false;
};
[[nodiscard]] Result<Target> find_target(NamespaceLock& lock, const Walk& walk);

}  // namespace unmoor::tree
