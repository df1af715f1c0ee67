// SPDX-License-Identifier: MIT
// A tree of mounts that is in no namespace: what open_tree(OPEN_TREE_CLONE) and fsmount(2) give.
#pragma once

#include <unmoor/tree/error.h>
#include <unmoor/tree/export.h>
#include <unmoor/tree/mount.h>

namespace unmoor::tree {

struct Ns;
struct Mount;

// Attached with MountNamespace::attach(); if it never is, it is dissolved when the object goes: that is never left to
// the pool. Thread-safety: one thread at a time.
class UNMOOR_TREE_API DetachedTree {
 public:
  DetachedTree(DetachedTree&& other) noexcept;
  DetachedTree& operator=(DetachedTree&& other) noexcept;
  ~DetachedTree();

  [[nodiscard]] MountId mount() const;
  // mount_setattr(2). Errors: EPERM (a locked attribute), EINVAL (already attached), EDEADLK, ESTALE.
  [[nodiscard]] Result<void> set_attributes(const AttributeChange& change, Recursion recursion);

 private:
  friend class MountNamespace;
  friend class Universe;
  explicit DetachedTree(Mount* root) : root_(root) {}
  void dissolve();

  Mount* root_;  // holds one reference
};

}  // namespace unmoor::tree
