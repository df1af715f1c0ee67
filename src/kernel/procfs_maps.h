// SPDX-License-Identifier: MIT
// /proc/PID/maps: files that a process has mapped, also without a descriptor (proc_pid_maps(5)).
//
// The kernel takes the address space's lock for it, so it may wait for as long as the process itself is stuck in the
// kernel: only read it where a stuck reader is expected.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/error.h"
#include "kernel/mount_table.h"
#include "kernel/system_calls.h"

namespace unmoor::kernel {

struct Mapping {
  std::string range{};    // "start-end", the name in /proc/PID/map_files
  DeviceNumber device{};  // of the superblock, unlike st_dev
  std::uint64_t inode = 0;
  std::string path{};  // newlines undone; may end in " (deleted)"
};

// The mappings of files on `devices`, one per (device, inode): a program maps one file several times.
[[nodiscard]] std::vector<Mapping> parse_maps(std::string_view text, const std::vector<DeviceNumber>& devices);

// Whether anything is mapped from `devices`, asked mapping by mapping (PROCMAP_QUERY, 6.11): the text of all of them is
// several times as expensive. `maps` is an open /proc/PID/maps. ENOTTY where the kernel cannot be asked.
[[nodiscard]] Result<bool> maps_any_of(const SystemCalls& calls, int maps, const std::vector<DeviceNumber>& devices);

// Errors: those of openat(2) and read(2). `directory` is an open /proc/PID.
[[nodiscard]] Result<std::vector<Mapping>> mappings_of(const SystemCalls& calls, int directory,
                                                       const std::vector<DeviceNumber>& devices);

}  // namespace unmoor::kernel
