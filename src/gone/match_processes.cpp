// SPDX-License-Identifier: MIT
// Holders that are processes, and unix sockets bound to files.
#include <algorithm>

#include "gone/matching.h"
#include "kernel/procfs_text.h"

namespace unmoor::gone {
namespace {

constexpr std::string_view kDeletedMark = " (deleted)";

Holder holder_from(const Sighting& sighting, Prevents prevents, Certainty certainty) {
  Holder holder{.kind = sighting.kind,
                .prevents = prevents,
                .certainty = certainty,
                .pid = sighting.pid,
                .tid = sighting.tid,
                .descriptor = sighting.descriptor,
                .path = sighting.path,
                .mount_id = sighting.known_mount ? sighting.place.mount_id : 0,
                .mount_namespace = sighting.name_space,
                .detail = sighting.detail};
  // The kernel marks a deleted file in the text, where a real name may end the same way: only a file that has no link
  // left is surely deleted.
  if (sighting.known_mount && sighting.place.links == 0 && holder.path.ends_with(kDeletedMark)) {
    holder.path.resize(holder.path.size() - kDeletedMark.size());
    holder.deleted = true;
  }
  return holder;
}

Match match_sighting(const Census& census, const Target& target, const Sighting& sighting) {
  switch (sighting.kind) {
    case HolderKind::kInFlight:
      return Match::kCandidate;
    case HolderKind::kDeviceDescriptor:
      return target.scope == Scope::kFilesystem && target.block_device && sighting.place.special == *target.block_device
                 ? Match::kYes
                 : Match::kNo;
    case HolderKind::kRingFile:
      if (!sighting.path.starts_with('/')) return Match::kCandidate;  // before Linux 6.18: only the file's name
      return match_path(census, target, sighting.path, sighting.name_space, std::nullopt);
    default:
      break;
  }
  if (sighting.kind == HolderKind::kDetachedTree && target.superblock && sighting.place.device == *target.superblock)
    return Match::kYes;  // of the same filesystem, whatever mount was asked about
  if (sighting.known_mount) return match_mount(census, target, sighting.place.mount_id, sighting.place.device);
  return match_path(census, target, sighting.path, sighting.name_space, sighting.place.device);
}

}  // namespace

void match_processes(const Evidence& evidence, Identities& identities, Answer& answer) {
  const Census& census = *evidence.census;
  for (const Sighting& sighting : evidence.sightings.seen) {
    const Match match = match_sighting(census, answer.target, sighting);
    if (match == Match::kNo) continue;
    Prevents prevents = sighting.known_mount     ? prevents_of(census, answer.target, sighting.place.mount_id)
                        : answer.target.attached ? Prevents::kUnmount
                                                 : Prevents::kShutdown;
    if (sighting.kind == HolderKind::kDeviceDescriptor) prevents = Prevents::kDevice;
    Holder holder = holder_from(sighting, prevents, match == Match::kYes ? Certainty::kCertain : Certainty::kCandidate);
    if (prevents == Prevents::kShutdown && !census.find_mount(holder.mount_id) && holder.detail.empty() &&
        sighting.known_mount) {
      holder.detail = "on a detached mount";
    }
    identities.fill(holder);
    answer.holders.push_back(std::move(holder));
  }
}

void match_sockets(const Evidence& evidence, Identities& identities, Answer& answer) {
  const Census& census = *evidence.census;
  for (const kernel::BoundSocket& socket : evidence.bound_sockets) {
    const auto owner =
        std::ranges::find(evidence.sightings.socket_owners, socket.inode, &std::pair<std::uint64_t, pid_t>::first);
    const pid_t pid = owner == evidence.sightings.socket_owners.end() ? 0 : owner->second;
    const auto process = std::ranges::find(census.processes(), pid, &ProcessEntry::pid);
    const kernel::NamespaceInode name_space =
        pid != 0 && process != census.processes().end() ? process->mount_namespace : 0;
    const std::optional<kernel::DeviceNumber> device =
        socket.file_inode != 0 ? std::optional(socket.file_device) : std::nullopt;
    const Match match = match_path(census, answer.target, socket.path, name_space, device);
    if (match == Match::kNo) continue;
    Holder holder{.kind = HolderKind::kBoundSocket,
                  .prevents = answer.target.attached ? Prevents::kUnmount : Prevents::kShutdown,
                  .certainty = match == Match::kYes ? Certainty::kCertain : Certainty::kCandidate,
                  .pid = pid,
                  .path = socket.path,
                  .mount_namespace = name_space,
                  .detail = "socket " + std::to_string(socket.inode)};
    identities.fill(holder);
    answer.holders.push_back(std::move(holder));
  }
}

}  // namespace unmoor::gone
