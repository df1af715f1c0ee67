// SPDX-License-Identifier: MIT
// From the text of a tree script to operations, and back. The grammar is in unmoor-tree(1).
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "cli/tree/operation.h"

namespace unmoor::cli::tree {

struct ScriptError {
  int line;
  std::string message;
};

[[nodiscard]] std::expected<std::vector<Operation>, ScriptError> parse_script(std::string_view text);

// The line that parses to `operation`, without a newline.
[[nodiscard]] std::string script_line(const Operation& operation);

}  // namespace unmoor::cli::tree
