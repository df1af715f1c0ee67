// SPDX-License-Identifier: MIT
// What the benchmark does itself, without a program: the mounts that the sides work on, and sides that are calls.
#pragma once

#include <functional>
#include <string>

#include "kernel/error.h"
#include "measure/scenario.h"

namespace unmoor::cli::bench {

// Where a scenario mounts, from the scratch directory.
inline constexpr const char* kPoint = "mnt";

// Errors: those of mount(2) and umount2(2).
[[nodiscard]] Result<void> mount_tmpfs(const std::string& at);
[[nodiscard]] Result<void> unmount(const std::string& at, int flags);
// Every layer: nothing may be left for the next run, also when a command failed.
Result<void> leave_nothing_mounted(const std::string& at);

// A side that does `work` in this process; the time is that of the call.
[[nodiscard]] measure::Side in_process(const std::string& shown, std::function<Result<void>()> work);

}  // namespace unmoor::cli::bench
