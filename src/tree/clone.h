// SPDX-License-Identifier: MIT
// Making mounts: of a filesystem, as the clone of another mount, as the copy of a tree.
#pragma once

#include <cstdint>
#include <string_view>

#include "tree/namespace_lock.h"

namespace unmoor::tree {

// How a clone relates to its original.
struct CloneHow {
  bool slave = false;        // receives propagation from the original
  bool make_shared = false;  // has a peer group of its own if it has none
  bool copy_unbindable = false;
};

// A mount that is attached to nothing, with one reference. On failure nullptr, and `superblock` (which has one mount
// counted for it) is given back.
[[nodiscard]] Mount* make_mount(Core& core, Superblock* superblock, std::string_view root, std::uint64_t root_hash,
                                std::uint32_t flags);
// Undoes make_mount: nobody has seen the mount. If it was the first of its filesystem, that is not shut down: it was
// never mounted, and may be tried again.
void discard_mount(Core& core, Mount* mount);
// A clone of `original` whose root is `root`, a place of the same filesystem. nullptr: no memory.
[[nodiscard]] Mount* clone_mount(NamespaceLock& lock, Mount* original, Place* root, CloneHow how);
// A copy of the tree at `top`, from `root` down. On failure an Error, and nothing is left.
[[nodiscard]] Result<Mount*> copy_tree(NamespaceLock& lock, Mount* top, Place* root, CloneHow how);

}  // namespace unmoor::tree
