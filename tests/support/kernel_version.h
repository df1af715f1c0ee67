// SPDX-License-Identifier: MIT
// Which kernel this is, where an older one answers differently and nothing else tells so.
#pragma once

#include <charconv>
#include <string_view>
#include <sys/utsname.h>
#include <utility>

namespace unmoor::test {

// Whether this kernel is `major`.`minor` or newer.
inline bool kernel_at_least(int major, int minor) {
  utsname name{};
  if (uname(&name) != 0) return false;
  const std::string_view release = name.release;
  std::pair<int, int> here{0, 0};
  const auto [dot, error] = std::from_chars(release.begin(), release.end(), here.first);
  if (error != std::errc{} || dot == release.end()) return false;
  std::from_chars(dot + 1, release.end(), here.second);
  return here >= std::pair(major, minor);
}

}  // namespace unmoor::test
