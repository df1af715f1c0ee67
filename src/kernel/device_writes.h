// SPDX-License-Identifier: MIT
// How much a block device has written since it exists: two readings make a rate.
#pragma once

#include <cstdint>
#include <optional>

#include "kernel/mount_table.h"
#include "kernel/system_calls.h"

namespace unmoor::kernel {

// In bytes, from /sys/dev/block/N/stat; nothing for what is no block device.
[[nodiscard]] std::optional<std::uint64_t> bytes_written(const SystemCalls& calls, DeviceNumber device);

}  // namespace unmoor::kernel
