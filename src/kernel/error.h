// SPDX-License-Identifier: MIT
// What went wrong: the kernel's errno, what was being done, and to what.
#pragma once

#include <cerrno>
#include <expected>
#include <string>
#include <utility>

namespace unmoor {

struct Error {
  int code;            // an errno, never 0
  const char* doing;   // a literal: the system call or step, e.g. "umount2"
  std::string object;  // what it was done to, as the user named it; may be empty
};

template <typename T>
using Result = std::expected<T, Error>;

[[nodiscard]] inline std::unexpected<Error> fail(int code, const char* doing, std::string object = {}) {
  return std::unexpected(Error{code, doing, std::move(object)});
}

// From the seam's convention (negative errno) to an Error.
[[nodiscard]] inline std::unexpected<Error> fail_from(long negative_errno, const char* doing, std::string object = {}) {
  return fail(static_cast<int>(-negative_errno), doing, std::move(object));
}

}  // namespace unmoor
