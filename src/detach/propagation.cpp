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

// Peer groups reached from `group`: slaves that are shared hand it on.
std::set<int> receiving_groups(int group, const std::vector<const MountTable*>& tables) {
  std::set<int> groups{group};
  for (bool grew = true; grew;) {
    grew = false;
    for (const MountTable* table : tables) {
      for (const MountEntry& mount : table->entries()) {
        if (mount.shared_group != 0 && groups.contains(mount.master_group)) {
          grew = groups.insert(mount.shared_group).second || grew;
        }
      }
    }
  }
  return groups;
}

}  // namespace

std::vector<const MountEntry*> mounts_below(const MountTable& table, const MountEntry& top) {
  std::unordered_multimap<int, const MountEntry*> children;
  for (const MountEntry& mount : table.entries()) {
    if (mount.id != mount.parent_id) children.emplace(mount.parent_id, &mount);
  }
  std::vector<const MountEntry*> found{&top};
  for (std::size_t i = 0; i < found.size() && found.size() <= table.entries().size(); ++i) {
    const auto [first, last] = children.equal_range(found[i]->id);
    for (auto child = first; child != last; ++child)
      found.push_back(child->second);
  }
  return found;
}

Result<std::vector<ReachedMount>> propagated_removals(const kernel::SystemCalls& calls, const MountTable& own,
                                                      const MountEntry& mount) {
  const MountEntry* const parent = own.by_id(mount.parent_id);
  if (parent == nullptr) return fail(ENOENT, "find the parent mount");
  const auto place = place_in_filesystem(*parent, mount);
  const auto paths = kernel::other_mount_namespaces(calls);
  if (!paths) return std::unexpected(paths.error());
  std::vector<MountTable> others;
  for (const std::string& path : *paths) {
    auto table = MountTable::read(calls, path.c_str());
    if (!table && (table.error().code == ENOENT || table.error().code == ESRCH || table.error().code == EINVAL)) {
      return fail(EAGAIN, "read the mount table", path);  // its task has ended: the namespace may live on
    }
    if (!table) return std::unexpected(table.error());
    others.push_back(std::move(*table));
  }
  std::vector<const MountTable*> tables{&own};
  for (const MountTable& table : others)
    tables.push_back(&table);

  const std::set<int> groups = receiving_groups(parent->shared_group, tables);
  std::vector<ReachedMount> reached;
  for (const MountTable* table : tables) {
    std::unordered_map<int, const MountEntry*> receivers;
    for (const MountEntry& entry : table->entries()) {
      if (entry.type == "nsfs" && entry.root.starts_with("mnt:")) return fail(EXDEV, "read a mounted namespace");
      if (groups.contains(entry.shared_group) || groups.contains(entry.master_group))
        receivers.emplace(entry.id, &entry);
    }
    for (const MountEntry& entry : table->entries()) {
      const auto receiver = receivers.find(entry.parent_id);
      if (receiver == receivers.end() || &entry == &mount) continue;
      const auto its_place = place_in_filesystem(*receiver->second, entry);
      if (place && its_place && *its_place != *place) continue;
      reached.push_back({.device = entry.device,
                         .shuts_down_unseen = kernel::shuts_down_unseen(entry),
                         .is_tmpfs = entry.type == "tmpfs"});
    }
  }
  return reached;
}

}  // namespace unmoor::detach
