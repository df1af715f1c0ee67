// SPDX-License-Identifier: MIT
// Taking mounts out of the tree.
#pragma once

#include "tree/namespace_lock.h"

namespace unmoor::tree {

// Linux's UMOUNT_SYNC, UMOUNT_PROPAGATE, UMOUNT_CONNECTED.
struct UmountHow {
  bool sync = false;       // the caller has promised that it is shut down at return
  bool propagate = false;  // also elsewhere
  bool connected = false;  // the tree stays in one piece, for those who hold it
};

// Takes the tree at `top` out of its namespace and leaves it in lock.unmounted. Mount lock, sequence odd. Cannot fail:
// nothing on the way allocates.
void umount_tree(NamespaceLock& lock, Mount* top, UmountHow how);
// A tree that was never attached.
inline void umount_unattached(NamespaceLock& lock, Mount* top) {
  umount_tree(lock, top, UmountHow{.sync = true});
}

// Whether umount2(2) may be tried at all. `target` was looked up in `ns`; `root` says whether the path ends at its
// root.
[[nodiscard]] Result<void> may_umount(NamespaceLock& lock, const Ns* ns, const Mount* target, bool root,
                                      UmountFlags flags);
// umount2(2), from the checks on. `target` was looked up in `ns`; `root` says whether the path ends at its root.
[[nodiscard]] Result<void> do_umount(NamespaceLock& lock, Ns* ns, Mount* target, bool root, UmountFlags flags);

}  // namespace unmoor::tree
