// SPDX-License-Identifier: MIT
// Why an operation was refused: Linux's errno, and which of Linux's rules it was. EINVAL alone has some thirty causes.
#pragma once

#include <expected>

namespace unmoor::tree {

struct Error {
  int code;         // an errno, never 0
  const char* why;  // a literal: the rule that was broken
};

template <typename T>
using Result = std::expected<T, Error>;

}  // namespace unmoor::tree
