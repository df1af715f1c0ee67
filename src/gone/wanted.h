// SPDX-License-Identifier: MIT
// What a scan of /proc looks for: mounts by id, filesystems by device number. One lookup in a byte array per
// descriptor.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernel/mount_table.h"

namespace unmoor::gone {

enum class MountClass : std::uint8_t {
  kStranger,       // in no table that was read: detached, in a namespace not read, or one of the kernel's own
  kOther,          // in a table, and nobody asked for it
  kWanted,         // asked for
  kSockets,        // the kernel's own mounts, which are in no table:
  kAnonymous,      //   io_uring and other files without a name
  kNamespaces,     //   nsfs
  kUninteresting,  // pipes, memory files
};

class Wanted {
 public:
  void mark(std::uint64_t mount_id, MountClass as) {
    constexpr std::uint64_t kLargest = 1U << 24;  // ids are small: the kernel hands out the lowest free one
    if (mount_id >= kLargest) return;
    if (mount_id >= classes_.size()) classes_.resize(mount_id + 256, MountClass::kStranger);
    classes_[mount_id] = as;
  }
  [[nodiscard]] MountClass of(std::uint64_t mount_id) const {
    return mount_id < classes_.size() ? classes_[mount_id] : MountClass::kStranger;
  }
  [[nodiscard]] bool wants_device(kernel::DeviceNumber device) const {
    return std::ranges::find(devices, device) != devices.end();
  }

  std::vector<kernel::DeviceNumber> devices;        // superblocks, by the mount table's number
  std::vector<kernel::DeviceNumber> block_devices;  // whose own nodes are of interest
  bool any_mount = false;                           // false: only block_devices matter
  // Some mounted filesystem may ask a server in statx: descriptors are then read from fdinfo, which never does.
  bool careful = false;

 private:
  std::vector<MountClass> classes_;
};

}  // namespace unmoor::gone
