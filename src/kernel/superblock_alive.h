// SPDX-License-Identifier: MIT
// Whether a live superblock has this device number, asked of the kernel and not of a mount table.
#pragma once

#include <string_view>

#include "kernel/mount_table.h"
#include "kernel/system_calls.h"

namespace unmoor::kernel {

enum class Alive { kYes, kNo, kUnknown };

// By ustat(2), where the architecture has it. It calls the filesystem's statfs: only for a type that answers by itself
// (never FUSE, never a network filesystem), which is checked here. An anonymous number may be given to another
// filesystem as soon as its owner is gone: kYes is a hint for those.
[[nodiscard]] Alive superblock_alive(const SystemCalls& calls, DeviceNumber device, std::string_view type);

// The same by ustat(2) whatever the type is: for the caller to know that the filesystem's statfs asks nobody, as that
// of every type does of which answers_by_number() is true.
[[nodiscard]] Alive alive_by_number(const SystemCalls& calls, DeviceNumber device);
// Its argument: the kernel's own packing of a device number (new_encode_dev).
[[nodiscard]] long ustat_number(DeviceNumber device);
[[nodiscard]] bool answers_by_number(std::string_view type);

}  // namespace unmoor::kernel
