// SPDX-License-Identifier: MIT
#include "cli/tree/errno_name.h"

#include <cstring>

namespace unmoor::cli::tree {

std::string errno_name(int code) {
  if (code == 0) return "OK";
  const char* const name = strerrorname_np(code);
  return name != nullptr ? name : std::to_string(code);
}

std::optional<int> errno_from_name(std::string_view name) {
  if (name == "OK") return 0;
  constexpr int kLastErrno = 4095;  // MAX_ERRNO: no system call answers more
  for (int code = 1; code <= kLastErrno; ++code) {
    const char* const candidate = strerrorname_np(code);
    if (candidate != nullptr && name == candidate) return code;
  }
  return std::nullopt;
}

}  // namespace unmoor::cli::tree
