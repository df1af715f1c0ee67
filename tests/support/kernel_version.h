// SPDX-License-Identifier: MIT
// Which kernel this is, where an older one answers differently and nothing else tells so.
#pragma once

#include <cstdio>
#include <sys/utsname.h>
#include <utility>

namespace unmoor::test {

// Whether this kernel is `major`.`minor` or newer.
inline bool kernel_at_least(int major, int minor) {
  utsname name{};
  std::pair<int, int> here{0, 0};
  if (uname(&name) != 0 || std::sscanf(name.release, "%d.%d", &here.first, &here.second) != 2) return false;
  return here >= std::pair(major, minor);
}

}  // namespace unmoor::test
