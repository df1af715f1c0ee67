// SPDX-License-Identifier: MIT
// "EBUSY" for 16 and back; 0 is "OK".
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace unmoor::cli::tree {

[[nodiscard]] std::string errno_name(int code);
[[nodiscard]] std::optional<int> errno_from_name(std::string_view name);

}  // namespace unmoor::cli::tree
