// SPDX-License-Identifier: MIT
// Holders in the mount trees: mounts on top, copies here and in other namespaces, overlays.
#include <algorithm>
#include <set>

#include "gone/matching.h"
#include "gone/shell_word.h"
#include "gone/visible_mount.h"

namespace unmoor::gone {
namespace {

using kernel::MountEntry;

bool is_copy(const Answer& answer, const MountEntry& entry) {
  const Target& target = answer.target;
  if (!target.superblock || entry.device != *target.superblock) return false;
  if (!target.type.empty() && entry.type != target.type) return false;  // the number was given to another filesystem
  return static_cast<std::uint64_t>(entry.id) != target.mount_id || target.scope == Scope::kFilesystem;
}

// Mounts that hang below the target's mount, at any depth: the kernel wants them gone first.
void add_nested(const Census& census, Answer& answer) {
  std::set<int> roots;
  for (const MountEntry& entry : census.own().table.entries()) {
    const bool asked = static_cast<std::uint64_t>(entry.id) == answer.target.mount_id;
    if (asked || (answer.target.scope == Scope::kFilesystem && is_copy(answer, entry))) roots.insert(entry.id);
  }
  // A parent stands before its children, but for mounts that were moved: repeat until nothing is added.
  std::set<int> below = roots;
  for (std::size_t before = 0; before != below.size();) {
    before = below.size();
    for (const MountEntry& entry : census.own().table.entries()) {
      if (below.contains(entry.parent_id)) below.insert(entry.id);
    }
  }
  for (const MountEntry& entry : census.own().table.entries()) {
    if (!below.contains(entry.id) || roots.contains(entry.id)) continue;
    answer.holders.push_back({.kind = HolderKind::kNestedMount,
                              .prevents = Prevents::kUnmount,
                              .path = std::string(entry.mount_point),
                              .mount_id = static_cast<std::uint64_t>(entry.id),
                              .detail = std::string(entry.type),
                              .release = "umount " + shell_word(entry.mount_point)});
  }
}

HolderKind kind_of(NamespaceKeeper::By by) {
  switch (by) {
    case NamespaceKeeper::By::kProcess:
      return HolderKind::kNamespace;
    case NamespaceKeeper::By::kDescriptor:
      return HolderKind::kNamespaceByHandle;
    case NamespaceKeeper::By::kMount:
      return HolderKind::kNamespaceByMount;
    case NamespaceKeeper::By::kNobodySeen:
      break;
  }
  return HolderKind::kNamespaceUnexplained;
}

std::string command_inside(const NamespaceKeeper& keeper, std::string_view mount_point) {
  const std::string umount = " umount " + shell_word(mount_point);
  switch (keeper.by) {
    case NamespaceKeeper::By::kProcess:
      return "nsenter -t " + std::to_string(keeper.pid) + " -m" + umount;
    case NamespaceKeeper::By::kDescriptor:
      return "nsenter --mount=/proc/" + std::to_string(keeper.pid) + "/fd/" + std::to_string(keeper.descriptor) +
             umount;
    case NamespaceKeeper::By::kMount:
      return "nsenter --mount=" + shell_word(keeper.path) + umount;
    case NamespaceKeeper::By::kNobodySeen:
      break;
  }
  return {};
}

void add_copies_here(const Census& census, Answer& answer) {
  for (const MountEntry& entry : census.own().table.entries()) {
    if (!is_copy(answer, entry)) continue;
    answer.holders.push_back({.kind = HolderKind::kMount,
                              .prevents = Prevents::kShutdown,
                              .path = std::string(entry.mount_point),
                              .mount_id = static_cast<std::uint64_t>(entry.id),
                              .detail = entry.root == "/" ? std::string() : "of " + std::string(entry.root),
                              .release = "umount " + shell_word(entry.mount_point)});
  }
}

// One holder per other namespace, for its first copy: there may be thousands of namespaces.
void add_copies_elsewhere(const Census& census, Identities& identities, Answer& answer) {
  for (std::size_t n = 1; n < census.namespaces().size(); ++n) {
    const NamespaceEntry& name_space = census.namespaces()[n];
    const MountEntry* first = nullptr;
    std::size_t copies = 0;
    for (const MountEntry& entry : name_space.table.entries()) {
      const std::optional<MountPlace> indexed = census.find_mount(static_cast<std::uint64_t>(entry.id));
      if (!is_copy(answer, entry) || !indexed || indexed->name_space != n) continue;
      if (first == nullptr) first = &entry;
      ++copies;
    }
    if (first == nullptr) continue;
    Holder holder{.kind = kind_of(name_space.keeper.by),
                  .prevents = Prevents::kShutdown,
                  .pid = name_space.keeper.pid,
                  .descriptor = name_space.keeper.descriptor,
                  .path = std::string(first->mount_point),
                  .mount_id = static_cast<std::uint64_t>(first->id),
                  .mount_namespace = name_space.inode,
                  .release = command_inside(name_space.keeper, first->mount_point)};
    if (copies > 1) holder.detail = std::to_string(copies) + " mounts";
    if (name_space.keeper.processes > 1) {
      holder.detail += holder.detail.empty() ? "" : ", ";
      holder.detail += std::to_string(name_space.keeper.processes) + " processes";
    }
    if (name_space.keeper.by == NamespaceKeeper::By::kMount) holder.detail = "kept at " + name_space.keeper.path;
    identities.fill(holder);
    answer.holders.push_back(std::move(holder));
  }
}

}  // namespace

void match_mounts(const Evidence& evidence, Identities& identities, Answer& answer) {
  add_nested(*evidence.census, answer);
  add_copies_here(*evidence.census, answer);
  add_copies_elsewhere(*evidence.census, identities, answer);
}

void match_overlays(const Evidence& evidence, Answer& answer) {
  const Census& census = *evidence.census;
  std::set<kernel::DeviceNumber> seen;  // one overlay is mounted in many namespaces
  for (const NamespaceEntry& name_space : census.namespaces()) {
    for (const MountEntry& entry : name_space.table.entries()) {
      if (entry.type != "overlay" || !seen.insert(entry.device).second) continue;
      for (const holders::OverlayLayer& layer : holders::overlay_layers(entry.super_options)) {
        const Match match = match_path(census, answer.target, layer.path, name_space.inode, std::nullopt);
        if (match == Match::kNo) continue;
        const bool ours = &name_space == &census.own();
        answer.holders.push_back({.kind = HolderKind::kOverlay,
                                  .prevents = Prevents::kShutdown,
                                  .certainty = match == Match::kYes ? Certainty::kCertain : Certainty::kCandidate,
                                  .path = layer.path,
                                  .mount_namespace = ours ? 0 : name_space.inode,
                                  .detail = std::string(layer.option) + " of " + std::string(entry.mount_point),
                                  .release = ours ? "umount " + shell_word(entry.mount_point)
                                                  : command_inside(name_space.keeper, entry.mount_point)});
      }
    }
  }
}

}  // namespace unmoor::gone
