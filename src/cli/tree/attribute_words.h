// SPDX-License-Identifier: MIT
// "ro,nosuid,noatime" and mount_setattr(2)'s bits, and the order in which mountinfo shows the options of a mount.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cli/tree/operation.h"

namespace unmoor::cli::tree {

// nullopt: a word that is no per-mount option.
[[nodiscard]] std::optional<AttributeBits> parse_attributes(std::string_view words);
// Of bits that are set on a mount, as /proc/PID/mountinfo prints them: "rw,nosuid,relatime".
[[nodiscard]] std::string attribute_options(std::uint64_t bits);
// Back from bits to words that parse_attributes() understands.
[[nodiscard]] std::string attribute_words(const AttributeBits& bits);

}  // namespace unmoor::cli::tree
