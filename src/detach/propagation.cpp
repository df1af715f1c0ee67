// SPDX-License-Identifier: MIT
#include "detach/propagation.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include "kernel/filesystem_types.h"
#include "kernel/namespaces.h"

namespace unmoor::detach {
namespace {

using kernel::MountEntry;
using kernel::MountTable;

// Where `mount` stands inside its parent's filesystem: the same text for the same place, whatever path each
// namespace reaches it by. Nothing when the table does not say.
std::optional<std::string> place_in_filesystem(const MountEntry& parent, const MountEntry& mount) {
  std::string_view rest = mount.mount_point;
  if (!rest.starts_with(parent.mount_point)) return std::nullopt;
  rest.remove_prefix(parent.mount_point == "/" ? 0 : parent.mount_point.size());
  std::string place(parent.root == "/" ? std::string_view{} : parent.root);
  if (rest != "/") place += rest;
  return place;
}

std::string place_key(std::uint64_t parent, const std::string& place) {
  return std::to_string(parent) + ":" + place;
}

}  // namespace

std::vector<const MountEntry*> mounts_below(const MountTable& table, const MountEntry& top) {
  std::vector<const MountEntry*> children;
  children.reserve(table.entries().size());
  for (const MountEntry& mount : table.entries()) {
    if (mount.id != mount.parent_id) children.push_back(&mount);
  }
  std::ranges::sort(children, {}, &MountEntry::parent_id);
  std::vector<const MountEntry*> found{&top};
  for (std::size_t i = 0; i < found.size() && found.size() <= table.entries().size(); ++i) {
    const auto its = std::ranges::equal_range(children, found[i]->id, {}, &MountEntry::parent_id);
    found.insert(found.end(), its.begin(), its.end());
  }
  return found;
}

Result<Propagation> Propagation::look(const kernel::SystemCalls& calls, const MountTable& own) {
  const auto paths = kernel::other_mount_namespaces(calls);
  if (!paths) return std::unexpected(paths.error());
  Propagation all;
  for (const std::string& path : *paths) {
    auto table = MountTable::read(calls, path.c_str());
    if (!table && (table.error().code == ENOENT || table.error().code == ESRCH || table.error().code == EINVAL)) {
      return fail(EAGAIN, "read the mount table", path);  // its task has ended: the namespace may live on
    }
    if (!table) return std::unexpected(table.error());
    all.others_.push_back(std::move(*table));
  }
  const auto keeps_a_namespace = [](const MountEntry& entry) {
    return entry.type == "nsfs" && entry.root.starts_with("mnt:");
  };
  for (std::size_t number = 0; number <= all.others_.size(); ++number) {
    const MountTable& table = number == 0 ? own : all.others_[number - 1];
    if (std::ranges::any_of(table.entries(), keeps_a_namespace)) return fail(EXDEV, "read a mounted namespace");
    all.add(number, table);
  }
  for (const MountEntry& entry : own.entries())
    all.own_by_id_.emplace(entry.id, &entry);
  return all;
}

void Propagation::add(std::size_t number, const MountTable& table) {
  const auto numbered = [number](int id) { return (Numbered{number} << 32) | static_cast<unsigned>(id); };
  std::unordered_map<int, const MountEntry*> by_id;
  for (const MountEntry& entry : table.entries())
    by_id.emplace(entry.id, &entry);
  for (const MountEntry& entry : table.entries()) {
    if (entry.shared_group != 0) members_.emplace(entry.shared_group, numbered(entry.id));
    if (entry.master_group != 0) members_.emplace(entry.master_group, numbered(entry.id));
    if (entry.shared_group != 0 && entry.master_group != 0) slaves_.emplace(entry.master_group, entry.shared_group);
    const auto parent = by_id.find(entry.parent_id);
    if (parent == by_id.end()) continue;
    if (parent->second->shared_group == 0 && parent->second->master_group == 0) continue;
    if (const auto place = place_in_filesystem(*parent->second, entry)) {
      at_place_[place_key(numbered(entry.parent_id), *place)].push_back(&entry);
    } else {
      somewhere_[numbered(entry.parent_id)].push_back(&entry);
    }
  }
}

std::set<int> Propagation::receiving_groups(int group) const {
  std::set<int> groups{group};
  std::vector<int> open{group};
  while (!open.empty()) {
    const auto [first, last] = slaves_.equal_range(open.back());
    open.pop_back();
    for (auto slave = first; slave != last; ++slave) {
      if (groups.insert(slave->second).second) open.push_back(slave->second);
    }
  }
  return groups;
}

Result<std::vector<ReachedMount>> Propagation::removals(const MountEntry& mount) const {
  const auto parent = own_by_id_.find(mount.parent_id);
  if (parent == own_by_id_.end()) return fail(ENOENT, "find the parent mount");
  const auto place = place_in_filesystem(*parent->second, mount);
  if (!place) return fail(EXDEV, "find the place in the parent mount");
  std::vector<ReachedMount> reached;
  const auto add_those = [&](const auto& map, const auto& key) {
    const auto found = map.find(key);
    if (found == map.end()) return;
    for (const MountEntry* const entry : found->second) {
      if (entry == &mount) continue;
      reached.push_back({.device = entry->device,
                         .shuts_down_unseen = kernel::shuts_down_unseen(*entry),
                         .is_tmpfs = entry->type == "tmpfs"});
    }
  };
  for (const int group : receiving_groups(parent->second->shared_group)) {
    const auto [first, last] = members_.equal_range(group);
    for (auto receiver = first; receiver != last; ++receiver) {
      add_those(at_place_, place_key(receiver->second, *place));
      add_those(somewhere_, receiver->second);
    }
  }
  return reached;
}

}  // namespace unmoor::detach
