// SPDX-License-Identifier: MIT
// Small texts of /proc and /sys: a file, or what a link says.
#pragma once

#include <string>

#include "kernel/error.h"
#include "kernel/system_calls.h"

namespace unmoor::kernel {

// The whole file. Errors: those of open(2) and read(2).
[[nodiscard]] Result<std::string> read_text(const SystemCalls& calls, const char* path);

// Errors: those of readlink(2); ENAMETOOLONG past 255 bytes (links of /proc/PID/ns are shorter).
[[nodiscard]] Result<std::string> read_short_link(const SystemCalls& calls, const char* path);

}  // namespace unmoor::kernel
