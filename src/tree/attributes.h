// SPDX-License-Identifier: MIT
#pragma once

#include "tree/namespace_lock.h"

namespace unmoor::tree {

// mount_setattr(2) on a mount or a tree, once it has been found. Errors: EPERM; then nothing has changed.
[[nodiscard]] Result<void> set_tree_attributes(NamespaceLock& lock, Mount* top, const AttributeChange& change,
                                               Recursion recursion);

}  // namespace unmoor::tree
