// SPDX-License-Identifier: MIT
#include <cerrno>
#include <utility>

#include <unmoor/tree/detached_tree.h>

#include "tree/attributes.h"
#include "tree/ns_life.h"
#include "tree/operation.h"
#include "tree/thread_frames.h"
#include "tree/umount.h"

namespace unmoor::tree {

DetachedTree::DetachedTree(DetachedTree&& other) noexcept : root_(std::exchange(other.root_, nullptr)) {}

DetachedTree& DetachedTree::operator=(DetachedTree&& other) noexcept {
  if (this != &other) {
    dissolve();
    root_ = std::exchange(other.root_, nullptr);
  }
  return *this;
}

DetachedTree::~DetachedTree() {
  dissolve();
}

MountId DetachedTree::mount() const {
  return MountId{root_->id};
}

void DetachedTree::dissolve() {
  Mount* const root = std::exchange(root_, nullptr);
  if (root == nullptr) return;
  Core& core = *root->superblock->core;
  if (core.fork_guard.forked()) return;
  const bool may_wait = !ThreadFrame::inside(core);
  Ns* anonymous = nullptr;
  core.ref();
  {
    NamespaceLock lock(core);
    Ns* const ns = root->in();
    if (ns != nullptr && ns->anonymous && ns->root == root) {
      anonymous = ns;
      const MountWrite write(core.mount_lock);
      umount_tree(lock, root, UmountHow{.connected = true});
      // Our reference goes while the tree's is still there, so that a tree that nobody else holds is found idle.
      root->counts.put();
      if (!may_wait) core.pool.defer(lock.unmounted.mounts);
    }
  }
  if (anonymous == nullptr) {
    put(core, root);  // it was attached, and perhaps unmounted since
  } else {
    if (!may_wait) core.pool.kick();
    retire_ns(anonymous);
  }
  core.unref();
}

Result<void> DetachedTree::set_attributes(const AttributeChange& change, Recursion recursion) {
  Core& core = *root_->superblock->core;
  if (Result<void> may = core.may_wait(); !may) return may;
  NamespaceLock lock(core);
  Ns* const ns = root_->in();
  if (ns == nullptr || !ns->anonymous || ns->root != root_) return refuse(EINVAL, "the tree has been attached");
  return set_tree_attributes(lock, root_, change, recursion);
}

}  // namespace unmoor::tree
