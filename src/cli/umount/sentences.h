// SPDX-License-Identifier: MIT
// What umount(8) says about an error of umount2(2).
#pragma once

#include <string>

namespace unmoor::cli::umount {

// Without the final full stop, e.g. "target is busy". `error` is an errno.
[[nodiscard]] std::string failure_sentence(int error);

}  // namespace unmoor::cli::umount
