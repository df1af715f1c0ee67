// SPDX-License-Identifier: MIT
// From what the finders saw to the holders of each target. One source file per family of holders.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gone/holders/finders.h"
#include "gone/inquiry.h"
#include "kernel/procfs_identity.h"
#include "kernel/unix_sockets.h"

namespace unmoor::gone {

// Everything that was read, for all targets.
struct Evidence {
  std::shared_ptr<Census> census;
  Sightings sightings;
  std::vector<holders::KernelUser> kernel_users;
  std::vector<kernel::BoundSocket> bound_sockets;
};

// Who a process is: as the scan saw it, else asked once.
class Identities {
 public:
  Identities(const Census& census, const Sightings& sightings) : census_(&census), known_(sightings.identities) {}
  // Fills in command, user, unit, container of a holder that has a process, and a command that would end it.
  void fill(Holder& holder);

 private:
  const Census* census_;
  std::map<std::pair<pid_t, pid_t>, kernel::ProcessIdentity> known_;
  std::map<uid_t, std::string> users_;
};

enum class Match { kNo, kCandidate, kYes };

// Whether the mount with this id, or what shows this st_dev on a mount in no table, is the target's.
[[nodiscard]] Match match_mount(const Census& census, const Target& target, std::uint64_t mount_id,
                                std::optional<kernel::DeviceNumber> seen_device);
// Whether a file known by its path (in that namespace; 0: ours) and perhaps by its device is on the target. A path that
// leads nowhere today may have been on a mount that is detached: then it is a candidate.
[[nodiscard]] Match match_path(const Census& census, const Target& target, const std::string& path,
                               kernel::NamespaceInode name_space, std::optional<kernel::DeviceNumber> device);
// What a holder on this mount prevents, for this target.
[[nodiscard]] Prevents prevents_of(const Census& census, const Target& target, std::uint64_t mount_id);

void match_processes(const Evidence& evidence, Identities& identities, Answer& answer);
void match_sockets(const Evidence& evidence, Identities& identities, Answer& answer);
void match_mounts(const Evidence& evidence, Identities& identities, Answer& answer);
void match_overlays(const Evidence& evidence, Answer& answer);
void match_kernel_users(const Evidence& evidence, Answer& answer);

}  // namespace unmoor::gone
