// SPDX-License-Identifier: MIT
// Putting mounts into the tree.
#pragma once

#include "tree/namespace_lock.h"

namespace unmoor::tree {

// Sets the parent and mountpoint of `mount`, without making it visible. Takes a reference to the place. Mount lock.
void set_mountpoint(Mount* mount, Mount* parent, Place* place);
// Makes it visible: hashed, on its parent's list of children.
void make_visible(Core& core, Mount* mount);
// Both.
void hang(Core& core, Mount* mount, Mount* parent, Place* place);
// Moves a visible mount under another parent.
void change_mountpoint(NamespaceLock& lock, Mount* mount, Mount* parent, Place* place);

// Attaches the tree at `source` to `place` of `destination`, with everything that propagation does: Linux's
// attach_recursive_mnt. `owner` is the caller's user namespace. A source with a parent is moved. On failure the tree is
// as before; a source that is new is still the caller's.
[[nodiscard]] Result<void> attach_recursive(NamespaceLock& lock, Mount* source, Mount* destination, Place* place,
                                            std::uint64_t owner);

// Whether `ns` has room for the tree at `tree` besides what is being attached; counts it as being attached.
[[nodiscard]] Result<void> count_mounts(Core& core, Ns* ns, Mount* tree);

// The mounts of a copy whose owner is less privileged: none can be parted from its parent, but for the top, nor lose an
// attribute.
void lock_tree(Mount* top);

}  // namespace unmoor::tree
