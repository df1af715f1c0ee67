// SPDX-License-Identifier: MIT
// JSON strings for names that may hold any byte. The umount verb links no JSON library: its start-up time is measured.
#pragma once

#include <string>
#include <string_view>

namespace unmoor::cli::umount {

// Appends `"name": "text"`. Bytes that are not UTF-8 become U+FFFD, and then a second member tells them exactly:
// `"name_raw": {"bytes": "<hex>"}`.
void append_json_member(std::string& out, std::string_view name, std::string_view text);

// Appends the text between quotes; false if a byte that is not UTF-8 became U+FFFD.
bool append_json_string(std::string& out, std::string_view text);

}  // namespace unmoor::cli::umount
