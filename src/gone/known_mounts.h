// SPDX-License-Identifier: MIT
// Which mounts of a filesystem were seen on it while its device number was surely its own.
//
// An anonymous device number (tmpfs, overlay, btrfs, FUSE) is given away as soon as its owner is gone, the lowest free
// one first: on a busy machine it is somebody else's within milliseconds. Who then holds something "of that number"
// would be taken for a holder of the filesystem that is waited for, and the wait would never end. So a holder counts as
// long as a mount that is known holds it. While one does, the number is still the filesystem's, and every other mount
// of that number is its own too. Missed is a copy of a detached mount that is made, and whose original is let go,
// between two looks. What the kernel holds by way of a file (a loop device) has no mount either, and counts if it was
// there from the beginning, or together with a known mount.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "gone/holder.h"
#include "kernel/system_calls.h"

namespace unmoor::gone {

class KnownMounts {
 public:
  explicit KnownMounts(const kernel::SystemCalls& calls) : calls_(&calls) {}

  // All of them are on mounts of the filesystem.
  void remember(const std::vector<Holder>& holders);
  // Leaves out those on mounts that are not the filesystem's, and remembers the others.
  void leave_out_strangers(std::vector<Holder>& holders);

 private:
  enum class Known { kNo, kPerhaps, kYes };  // only kYes speaks for the others
  [[nodiscard]] Known look_up(const Holder& holder) const;

  const kernel::SystemCalls* calls_;
  std::map<std::uint64_t, std::uint64_t> unique_ids_;  // by the small id, which is given away too; 0: was not told
  std::set<std::tuple<HolderKind, std::string, std::string>> kernel_holders_;  // kind, path, detail
};

}  // namespace unmoor::gone
