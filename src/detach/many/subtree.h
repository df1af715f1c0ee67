// SPDX-License-Identifier: MIT
// The tree that the lines of a mount table make.
#pragma once

#include <unordered_map>
#include <vector>

#include "kernel/mount_table.h"

namespace unmoor::detach {

class MountTree {
 public:
  explicit MountTree(const kernel::MountTable& table);

  // nullptr if the table has no such mount.
  [[nodiscard]] const kernel::MountEntry* find(int id) const;
  // nullptr for the root of the table.
  [[nodiscard]] const kernel::MountEntry* parent(const kernel::MountEntry& entry) const;
  // By ascending id.
  [[nodiscard]] const std::vector<const kernel::MountEntry*>& children(const kernel::MountEntry& entry) const;

  // `top` and everything below it, in the order in which umount(8) unmounts a tree: of each mount first what covers
  // its root, then the other children by ascending id, then the mount itself.
  [[nodiscard]] std::vector<const kernel::MountEntry*> unmount_order(const kernel::MountEntry& top) const;

 private:
  std::unordered_map<int, const kernel::MountEntry*> by_id_;
  std::unordered_map<int, std::vector<const kernel::MountEntry*>> children_;
};

}  // namespace unmoor::detach
