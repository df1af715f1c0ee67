// SPDX-License-Identifier: MIT
// Block devices by number: their name, their node, and whether somebody holds them exclusively.
#pragma once

#include <string>
#include <vector>

#include "kernel/error.h"
#include "kernel/mount_table.h"
#include "kernel/system_calls.h"

namespace unmoor::kernel {

// "loop0", from /sys/dev/block; empty when there is no such device.
[[nodiscard]] std::string block_device_name(const SystemCalls& calls, DeviceNumber device);

// The node in /dev, checked to have this number. Errors: ENODEV when there is no such device or no node.
[[nodiscard]] Result<std::string> block_device_node(const SystemCalls& calls, DeviceNumber device);

// The number of the block device that `path` is a node of. Errors: ENOTBLK; those of statx(2).
[[nodiscard]] Result<DeviceNumber> block_device_number(const SystemCalls& calls, const char* path);

// Devices stacked on this one (device-mapper, md), from /sys/dev/block/N/holders, by name.
[[nodiscard]] std::vector<std::string> stacked_devices(const SystemCalls& calls, DeviceNumber device);

enum class Exclusive {
  kFree,     // open(O_EXCL) worked: no filesystem, no swap, no device on top has it
  kInUse,    // EBUSY
  kUnknown,  // no node, no permission, or another error: cannot be asked
};

// One open(O_EXCL), closed at once. Not in a loop without a pause: while it is open, mount(2) of the device by anybody
// else fails.
[[nodiscard]] Exclusive try_exclusive(const SystemCalls& calls, const std::string& node);

}  // namespace unmoor::kernel
