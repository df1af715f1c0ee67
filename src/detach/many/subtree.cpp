// SPDX-License-Identifier: MIT
#include "detach/many/subtree.h"

#include <algorithm>
#include <numeric>

namespace unmoor::detach {

using kernel::MountEntry;

MountTree::MountTree(const kernel::MountTable& table)
    : lines_(table.entries()), parent_(lines_.size()), first_child_(lines_.size() + 1) {
  by_id_.reserve(lines_.size());
  for (const MountEntry& entry : lines_)
    by_id_.push_back(&entry);
  if (!std::ranges::is_sorted(by_id_, {}, &MountEntry::id)) std::ranges::sort(by_id_, {}, &MountEntry::id);
  for (const MountEntry& entry : lines_) {
    const MountEntry* const parent = entry.parent_id == entry.id ? nullptr : find(entry.parent_id);
    parent_[position(entry)] = parent;
    if (parent != nullptr) ++first_child_[position(*parent) + 1];
  }
  std::partial_sum(first_child_.begin(), first_child_.end(), first_child_.begin());
  children_.resize(first_child_.back());
  std::vector<std::uint32_t> next(first_child_.begin(), first_child_.end() - 1);
  for (const MountEntry* const entry : by_id_) {
    if (const MountEntry* const above = parent(*entry)) children_[next[position(*above)]++] = entry;
  }
}

const MountEntry* MountTree::find(int id) const {
  const auto found = std::ranges::lower_bound(by_id_, id, {}, &MountEntry::id);
  return found == by_id_.end() || (*found)->id != id ? nullptr : *found;
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
    const Entries below = children(*entry);
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
