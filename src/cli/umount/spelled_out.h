// SPDX-License-Identifier: MIT
// A target as -c takes it: by its letters.
#pragma once

#include <string>

namespace unmoor::cli::umount {

// Absolute, without a slash at the end; symlinks and ".." stay as they are.
[[nodiscard]] std::string spelled_out(const char* target);

}  // namespace unmoor::cli::umount
