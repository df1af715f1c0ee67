// SPDX-License-Identifier: MIT
#include "detach/many/subtree.h"

#include <algorithm>

namespace unmoor::detach {

using kernel::MountEntry;

MountTree::MountTree(const kernel::MountTable& table) {
  by_id_.reserve(table.entries().size());
  for (const MountEntry& entry : table.entries())
    by_id_.emplace(entry.id, &entry);
  for (const MountEntry& entry : table.entries()) {
    if (entry.parent_id != entry.id && by_id_.contains(entry.parent_id)) children_[entry.parent_id].push_back(&entry);
  }
  for (auto& [id, list] : children_)
    std::ranges::sort(list, {}, &MountEntry::id);
}

const MountEntry* MountTree::find(int id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : found->second;
}

const MountEntry* MountTree::parent(const MountEntry& entry) const {
  return entry.parent_id == entry.id ? nullptr : find(entry.parent_id);
}

const std::vector<const MountEntry*>& MountTree::children(const MountEntry& entry) const {
  static const std::vector<const MountEntry*> kNone;
  const auto found = children_.find(entry.id);
  return found == children_.end() ? kNone : found->second;
}

std::vector<const MountEntry*> MountTree::unmount_order(const MountEntry& top) const {
  // The reverse of: the mount, its children backwards, what covers it. No recursion: stacks may be very deep.
  std::vector<const MountEntry*> order;
  std::vector<const MountEntry*> open{&top};
  while (!open.empty()) {
    const MountEntry* const entry = open.back();
    open.pop_back();
    order.push_back(entry);
    const auto covers = [entry](const MountEntry* child) { return child->mount_point == entry->mount_point; };
    const std::vector<const MountEntry*>& below = children(*entry);
    for (const MountEntry* const child : below) {
      if (covers(child)) open.push_back(child);
    }
    for (const MountEntry* const child : below) {
      if (!covers(child)) open.push_back(child);
    }
  }
  std::ranges::reverse(order);
  return order;
}

}  // namespace unmoor::detach
