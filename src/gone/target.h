// SPDX-License-Identifier: MIT
// What a person asks about: a mount point, a device, a mount id, or any path on a filesystem.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "gone/census.h"
#include "kernel/device_node.h"
#include "kernel/statmount.h"

namespace unmoor::gone {

enum class Scope {
  kMount,       // one mount: what makes umount(2) of it say EBUSY
  kFilesystem,  // the superblock, through whatever mount: what keeps it from shutting down
};

struct Target {
  std::string name{};  // as it was typed
  Scope scope = Scope::kMount;
  std::uint64_t mount_id = 0;                          // of the mount; 0: only the filesystem is known
  kernel::UniqueMountId unique_id = 0;                 // when it was asked for by such an id and is in no table
  bool attached = false;                               // a mount table that was read has it
  std::optional<kernel::DeviceNumber> superblock{};    // the mount table's device number
  std::optional<kernel::DeviceNumber> block_device{};  // the device that must be free when the filesystem is gone
  std::string type{};
  std::string source{};
  std::string mount_point{};  // empty: not mounted where we see it
};

enum class AskFor {
  kWhatItNames,  // a mount point's mount; a device's filesystem; a mount id's mount
  kFilesystem,   // the filesystem that the path is on
};

// Nothing on the way is looked at that may wait: see visible_mount.h. Errors: EINVAL when it is none of these.
[[nodiscard]] Result<Target> resolve_target(const Census& census, std::string_view text, AskFor what);

// The filesystem that is mounted at `place`, as a target.
[[nodiscard]] Target target_of_mount(const Census& census, const MountPlace& place, std::string_view name, Scope scope);

}  // namespace unmoor::gone
