// SPDX-License-Identifier: MIT
// Holders for people: a table that fits the terminal.
#pragma once

#include <cstddef>
#include <string>

#include "gone/inquiry.h"

namespace unmoor::cli {

struct TableOptions {
  std::size_t width = 0;    // columns of the terminal; 0: as wide as it gets
  std::size_t at_most = 0;  // holders to show per heading; 0: all
};

// Width of the terminal that `fd` is, else 0.
[[nodiscard]] std::size_t terminal_width(int fd);

// Everything about one target: a heading, the table, and what cannot be known.
[[nodiscard]] std::string answer_text(const gone::Answer& answer, const TableOptions& options);

// Only the table of these holders.
[[nodiscard]] std::string holders_table(const std::vector<gone::Holder>& holders, const TableOptions& options);

// Bytes that would move the cursor are shown as \ooo.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace unmoor::cli
