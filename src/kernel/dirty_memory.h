// SPDX-License-Identifier: MIT
// Data that was written and has not reached its device yet: what an unmount may have to wait for.
#pragma once

#include <cstdint>
#include <optional>

#include "kernel/mount_table.h"
#include "kernel/system_calls.h"

namespace unmoor::kernel {

// Of the whole machine, in bytes (proc_meminfo(5): Dirty + Writeback). Empty when it cannot be read.
[[nodiscard]] std::optional<std::uint64_t> dirty_bytes(const SystemCalls& calls, const char* meminfo = "/proc/meminfo");

// Behind one filesystem, in bytes. `debugfs` is a mounted debugfs; empty when it is not, or has no figures of that
// device.
[[nodiscard]] std::optional<std::uint64_t> dirty_bytes_of(const SystemCalls& calls, const char* debugfs,
                                                          DeviceNumber device);

}  // namespace unmoor::kernel
