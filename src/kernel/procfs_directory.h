// SPDX-License-Identifier: MIT
// Names in a directory of /proc or /sys, by getdents64 with one large buffer.
//
// Only for pseudo filesystems: their directories are made by the kernel and never wait for a server.
#pragma once

#include <functional>
#include <string_view>

#include "kernel/error.h"
#include "kernel/system_calls.h"
#include "kernel/unique_fd.h"

namespace unmoor::kernel {

// Opens `path` (relative to `parent`) as a directory. Errors: those of openat(2).
[[nodiscard]] Result<UniqueFd> open_directory(const SystemCalls& calls, int parent, const char* path);

// Calls `visit` with every name but "." and "..". The view is NUL-terminated and lives for the call only. Entries may
// come and go meanwhile. Errors: those of getdents64(2); what was visited before stays visited.
[[nodiscard]] Result<void> for_each_name(const SystemCalls& calls, int directory,
                                         const std::function<void(std::string_view)>& visit);

// The same, by path. An absent directory is an error (ENOENT).
[[nodiscard]] Result<void> for_each_name(const SystemCalls& calls, int parent, const char* path,
                                         const std::function<void(std::string_view)>& visit);

// A name that is a number ("1234"); -1 for any other.
[[nodiscard]] int numeric_name(std::string_view name);

}  // namespace unmoor::kernel
