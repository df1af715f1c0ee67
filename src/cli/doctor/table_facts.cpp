// SPDX-License-Identifier: MIT
// What the mount table tells the doctor.
#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "cli/doctor/facts.h"
#include "kernel/procfs_text.h"

namespace unmoor::cli::doctor {
namespace {

using kernel::MountEntry;
using kernel::MountTable;

// What is seen at "/": of the mounts there, the one that no other covers.
const MountEntry* root_mount(const MountTable& table) {
  const MountEntry* root = nullptr;
  for (const MountEntry& entry : table.entries()) {
    if (entry.mount_point == "/") root = &entry;
  }
  return root;
}

// Ids of a mount and of all below it.
std::unordered_set<int> subtree(const MountTable& table, int top) {
  std::unordered_multimap<int, int> children;
  for (const MountEntry& entry : table.entries())
    children.emplace(entry.parent_id, entry.id);
  std::unordered_set<int> found{top};
  std::vector<int> open{top};
  while (!open.empty()) {
    const int parent = open.back();
    open.pop_back();
    const auto [begin, end] = children.equal_range(parent);
    for (auto child = begin; child != end; ++child) {
      if (found.insert(child->second).second) open.push_back(child->second);
    }
  }
  return found;
}

// Mounts outside the tree under `top` that go with it: those whose parent is a peer of a mount in the tree.
std::size_t losses(const MountTable& table, int top) {
  const std::unordered_set<int> inside = subtree(table, top);
  std::set<int> groups;
  for (const MountEntry& entry : table.entries()) {
    if (entry.shared_group != 0 && inside.contains(entry.id)) groups.insert(entry.shared_group);
  }
  return static_cast<std::size_t>(std::ranges::count_if(table.entries(), [&](const MountEntry& entry) {
    if (inside.contains(entry.id)) return false;
    const MountEntry* const parent = table.by_id(entry.parent_id);
    return parent != nullptr && groups.contains(parent->shared_group);
  }));
}

std::string_view option(std::string_view options, std::string_view key) {
  while (!options.empty()) {
    std::string_view value = kernel::take_until(options, ',');
    if (kernel::take_until(value, '=') == key) return value;
  }
  return {};
}

bool has_word(std::string_view options, std::string_view word) {
  while (!options.empty()) {
    if (kernel::take_until(options, ',') == word) return true;
  }
  return false;
}

}  // namespace

void read_table_facts(const MountTable& table, Facts& facts) {
  facts.mounts = table.entries().size();
  std::map<int, std::size_t> members;
  for (const MountEntry& entry : table.entries()) {
    if (entry.shared_group != 0) ++members[entry.shared_group];
    if (entry.type == "fuse" || entry.type == "fuseblk" || entry.type.starts_with("fuse.")) ++facts.fuse_mounts;
    if (entry.type == "overlay" && !has_word(entry.super_options, "volatile")) {
      const std::string_view upper = option(entry.super_options, "upperdir");
      if (!upper.empty())
        facts.overlays.push_back({std::string(entry.mount_point), kernel::unescape_octal(upper), std::nullopt});
    }
  }
  for (const auto& [group, count] : members) {
    if (count > facts.largest_group) {
      facts.largest_group = count;
      facts.largest_group_id = group;
    }
  }
  const MountEntry* const root = root_mount(table);
  facts.root_shared = root != nullptr && root->shared_group != 0;
  if (!facts.root_shared) return;
  for (const MountEntry& entry : table.entries()) {
    if (entry.shared_group != root->shared_group || entry.root != root->root || entry.mount_point == "/") continue;
    const std::size_t lost = losses(table, entry.id);
    if (lost > 0) facts.root_copies.push_back({std::string(entry.mount_point), lost});
  }
}

}  // namespace unmoor::cli::doctor
