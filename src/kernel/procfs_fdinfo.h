// SPDX-License-Identifier: MIT
// /proc/PID/fdinfo/N: the facts about an open file that need no look at the file (proc_pid_fdinfo(5)).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/error.h"
#include "kernel/mount_table.h"
#include "kernel/system_calls.h"

namespace unmoor::kernel {

struct DescriptorFacts {
  std::uint64_t mount_id = 0;           // mnt_id
  std::uint64_t inode = 0;              // ino, 5.14; 0 when the kernel does not say
  int flags = 0;                        // open flags, O_PATH among them
  int in_flight = 0;                    // scm_fds: descriptors queued on this unix socket, not yet received (6.7)
  std::optional<DeviceNumber> watched;  // inotify: the superblock of the last watched file (sdev)
  std::vector<std::string> ring_files;  // io_uring: the registered files, as paths (UserFiles)
};

[[nodiscard]] DescriptorFacts parse_fdinfo(std::string_view text);

// Errors: those of openat(2) and read(2). `directory` is an open /proc/PID or /proc/PID/task/TID.
[[nodiscard]] Result<DescriptorFacts> descriptor_facts(const SystemCalls& calls, int directory, int descriptor);

}  // namespace unmoor::kernel
