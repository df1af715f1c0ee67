// SPDX-License-Identifier: MIT
// Holders as JSON: the schema is in docs/gone.md.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "gone/inquiry.h"

namespace unmoor::cli {

// {"targets": [...], "notes": [...]}
[[nodiscard]] nlohmann::ordered_json to_json(const gone::Inquiry& inquiry);
[[nodiscard]] nlohmann::ordered_json to_json(const gone::Holder& holder);
[[nodiscard]] nlohmann::ordered_json to_json(const gone::Target& target);

// One line per value, two spaces deep; bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] std::string to_text(const nlohmann::ordered_json& json);

}  // namespace unmoor::cli
