// SPDX-License-Identifier: MIT
// Whole small files and links of /proc and /sys. Never used on a file of a user's filesystem, which may hang.
#pragma once

#include <string>
#include <string_view>

#include "kernel/error.h"
#include "kernel/system_calls.h"

namespace unmoor::kernel {

// Errors: those of openat(2) and read(2).
[[nodiscard]] Result<std::string> read_text(const SystemCalls& calls, int parent, const char* path);

// The rest of a file that is open already; `path` is for the error.
[[nodiscard]] Result<std::string> read_open_text(const SystemCalls& calls, int fd, const char* path);

// The first line without its newline; empty on any error.
[[nodiscard]] std::string read_line(const SystemCalls& calls, int parent, const char* path);

// What a symbolic link says, never following it. Errors: those of readlinkat(2).
[[nodiscard]] Result<std::string> read_link(const SystemCalls& calls, int parent, const char* path);

// Takes the text up to `separator` off the front of `rest` (all of it when there is none).
[[nodiscard]] std::string_view take_until(std::string_view& rest, char separator);

// Takes the next word, separated by spaces or tabs.
[[nodiscard]] std::string_view take_word(std::string_view& rest);

// "\ooo" as the kernel's seq files escape it (space, tab, newline, backslash) turned back into bytes.
[[nodiscard]] std::string unescape_octal(std::string_view text);

}  // namespace unmoor::kernel
