// SPDX-License-Identifier: MIT
// The tree that the lines of a mount table make. A few flat arrays: a table may have tens of thousands.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernel/mount_table.h"

namespace unmoor::detach {

class MountTree {
 public:
  using Entries = std::span<const kernel::MountEntry* const>;

  // The table must stay.
  explicit MountTree(const kernel::MountTable& table);

  // nullptr if the table has no such mount.
  [[nodiscard]] const kernel::MountEntry* find(int id) const;
  // nullptr for the root of the table.
  [[nodiscard]] const kernel::MountEntry* parent(const kernel::MountEntry& entry) const {
    return parent_[position(entry)];
  }
  // By ascending id.
  [[nodiscard]] Entries children(const kernel::MountEntry& entry) const {
    const std::size_t at = position(entry);
    return Entries(children_).subspan(first_child_[at], first_child_[at + 1] - first_child_[at]);
  }
  // Which line of the table it is.
  [[nodiscard]] std::size_t position(const kernel::MountEntry& entry) const {
    return static_cast<std::size_t>(&entry - lines_.data());
  }

  // `top` and everything below it, in the order in which umount(8) unmounts a tree: of each mount first what covers
  // its root, then the other children by ascending id, then the mount itself.
  [[nodiscard]] std::vector<const kernel::MountEntry*> unmount_order(const kernel::MountEntry& top) const;

 private:
  std::span<const kernel::MountEntry> lines_;
  std::vector<const kernel::MountEntry*> by_id_;     // ascending
  std::vector<const kernel::MountEntry*> parent_;    // by position
  std::vector<std::uint32_t> first_child_;           // by position, into children_; one more at the end
  std::vector<const kernel::MountEntry*> children_;  // of one after the other
};

}  // namespace unmoor::detach
