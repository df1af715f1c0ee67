// SPDX-License-Identifier: MIT
#include "gone/matching.h"

#include <algorithm>
#include <unistd.h>

#include "gone/shell_word.h"
#include "gone/visible_mount.h"
#include "kernel/procfs_directory.h"

namespace unmoor::gone {
namespace {

using kernel::DeviceNumber;
using kernel::MountEntry;

bool same_filesystem(const Target& target, const MountEntry& entry) {
  return target.superblock && entry.device == *target.superblock && (target.type.empty() || entry.type == target.type);
}

std::size_t mounts_of_filesystem(const Census& census, const Target& target) {
  return static_cast<std::size_t>(std::ranges::count_if(
      census.mounts(), [&](const auto& mount) { return same_filesystem(target, census.entry(mount.second)); }));
}

// "docker 0123456789ab" and the unit of a service are better ended by who started them.
std::string command_to_end(const Holder& holder) {
  if (holder.pid == 1 || holder.pid == ::getpid()) return {};
  const std::string id = holder.container.substr(std::min(holder.container.find(' ') + 1, holder.container.size()));
  if (holder.container.starts_with("docker ")) return "docker stop " + id;
  if (holder.container.starts_with("podman ")) return "podman stop " + id;
  if (holder.unit.ends_with(".service") && !holder.unit.starts_with("user@") && holder.container.empty())
    return "systemctl stop " + shell_word(holder.unit);
  return "kill " + std::to_string(holder.pid);
}

}  // namespace

void Identities::fill(Holder& holder) {
  if (holder.pid <= 0) return;
  const auto [at, is_new] = known_.try_emplace({holder.pid, holder.tid});
  kernel::ProcessIdentity& who = at->second;
  if (is_new) {
    const std::string directory = proc_directory(holder.pid, holder.tid);
    const Result<kernel::UniqueFd> open = kernel::open_directory(census_->calls(), census_->proc(), directory.c_str());
    if (open) who = kernel::identity_of(census_->calls(), open->get());
  }
  holder.command = who.command;
  holder.uid = who.uid;
  const auto [name, unknown] = users_.try_emplace(who.uid);
  if (unknown) name->second = kernel::user_name(census_->calls(), who.uid);
  holder.user = name->second;
  holder.unit = who.unit;
  holder.container = who.container;
  if (who.kernel_thread) {
    holder.detail = "kernel thread";
  } else if (holder.release.empty()) {
    holder.release = command_to_end(holder);
  }
}

Match match_mount(const Census& census, const Target& target, std::uint64_t mount_id,
                  std::optional<DeviceNumber> seen_device) {
  const std::optional<MountPlace> place = census.find_mount(mount_id);
  // The id of a detached mount that is in a table is somebody else's by now: it is given away as soon as its owner is
  // gone.
  if (target.mount_id != 0 && mount_id == target.mount_id) return target.attached || !place ? Match::kYes : Match::kNo;
  if (place) {
    const bool counts = target.scope == Scope::kFilesystem && same_filesystem(target, census.entry(*place));
    return counts ? Match::kYes : Match::kNo;
  }
  // On a detached mount of the same filesystem: it outlives the mount that was asked about, and was perhaps there
  // before.
  return target.superblock && seen_device && *seen_device == *target.superblock ? Match::kYes : Match::kNo;
}

Match match_path(const Census& census, const Target& target, const std::string& path, kernel::NamespaceInode name_space,
                 std::optional<DeviceNumber> device) {
  const kernel::MountTable* table = name_space == 0 ? nullptr : census.table_of(name_space);
  if (table == nullptr) table = &census.own().table;
  const MountEntry* const mount = path.starts_with('/') ? visible_mount(*table, path) : nullptr;
  const bool device_agrees = mount != nullptr && (!device || mount->device == *device || mount->device.major == 0);
  if (mount != nullptr && device_agrees) {
    const Match direct = match_mount(census, target, static_cast<std::uint64_t>(mount->id), std::nullopt);
    if (direct == Match::kYes) return direct;
    if (device && mount->device == *device) return Match::kNo;
  }
  if (device && target.superblock) {
    if (*device != *target.superblock) return Match::kNo;
    if (target.scope == Scope::kFilesystem) return Match::kYes;
    return mounts_of_filesystem(census, target) <= 1 ? Match::kYes : Match::kCandidate;
  }
  // No device is told. Only a target that is in no table can own a path that leads nowhere.
  if (target.attached || mount == nullptr || !answers_by_itself(mount->type)) return Match::kNo;
  struct ::statx facts;
  const long there =
      census.calls().statx(AT_FDCWD, path.c_str(), AT_STATX_DONT_SYNC | AT_SYMLINK_NOFOLLOW, STATX_TYPE, &facts);
  return there == -ENOENT || there == -ENOTDIR ? Match::kCandidate : Match::kNo;
}

Prevents prevents_of(const Census& census, const Target& target, std::uint64_t mount_id) {
  if (target.mount_id != 0 && mount_id == target.mount_id && target.attached) return Prevents::kUnmount;
  const std::optional<MountPlace> place = census.find_mount(mount_id);
  return place && place->name_space == 0 ? Prevents::kUnmount : Prevents::kShutdown;
}

}  // namespace unmoor::gone
