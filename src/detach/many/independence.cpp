// SPDX-License-Identifier: MIT
#include "detach/many/independence.h"

#include <algorithm>
#include <string>
#include <unordered_map>

namespace unmoor::detach {
namespace {

using kernel::MountEntry;

bool propagates(const MountEntry& parent) {
  return parent.shared_group != 0 || parent.master_group != 0;
}

// Where `entry` hangs, as a place of its parent's filesystem.
std::string place_of(const MountEntry& entry, const MountEntry& parent) {
  std::string_view below = entry.mount_point;
  if (parent.mount_point != "/" && below.starts_with(parent.mount_point))
    below.remove_prefix(parent.mount_point.size());
  std::string place = std::to_string(parent.device.major) + ":" + std::to_string(parent.device.minor) + ":";
  if (parent.root != "/") place += parent.root;
  if (below != "/") place += below;
  return place;
}

// Adds to `waits` that list[second] waits for list[first].
void add_wait(Waits& waits, std::uint32_t first, std::uint32_t second) {
  waits.followers[first].push_back(second);
  ++waits.count[second];
}

}  // namespace

Tangles::Tangles(const kernel::MountTable& table, const MountTree& tree) {
  std::unordered_map<std::string, const MountEntry*> first_at;
  for (const MountEntry& entry : table.entries()) {
    const MountEntry* const parent = tree.parent(entry);
    if (parent == nullptr || !propagates(*parent)) continue;
    const auto [found, is_first] = first_at.emplace(place_of(entry, *parent), &entry);
    if (is_first) continue;
    tangled_.insert(entry.id);
    tangled_.insert(found->second->id);
  }
  if (tangled_.empty()) return;
  std::vector<const MountEntry*> open;
  for (const MountEntry& entry : table.entries()) {
    if (tangled_.contains(entry.id)) open.push_back(&entry);
  }
  while (!open.empty()) {
    const MountEntry* const entry = open.back();
    open.pop_back();
    for (const MountEntry* const child : tree.children(*entry)) {
      if (tangled_.insert(child->id).second) open.push_back(child);
    }
  }
}

Waits waits_of(MountList list, const MountTree& tree, const Tangles& tangles) {
  Waits waits{.count = std::vector<std::uint32_t>(list.size()),
              .followers = std::vector<std::vector<std::uint32_t>>(list.size())};
  std::unordered_map<int, std::uint32_t> index;
  index.reserve(list.size());
  for (std::uint32_t i = 0; i < list.size(); ++i)
    index.emplace(list[i]->id, i);
  std::vector<std::uint32_t> tangled;
  for (std::uint32_t i = 0; i < list.size(); ++i) {
    if (tangles.tangled(*list[i])) tangled.push_back(i);
    const MountEntry* const parent = tree.parent(*list[i]);
    if (parent == nullptr) continue;
    const auto found = index.find(parent->id);
    if (found == index.end()) continue;
    add_wait(waits, std::min(i, found->second), std::max(i, found->second));
  }
  for (std::size_t i = 1; i < tangled.size(); ++i)
    add_wait(waits, tangled[i - 1], tangled[i]);
  return waits;
}

}  // namespace unmoor::detach
