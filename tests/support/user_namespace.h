// SPDX-License-Identifier: MIT
// Whether root is root: in a user namespace of one's own nobody else can be become, no device be had, and the kernel
// locks the mounts that came with it.
#pragma once

#include <fstream>

namespace unmoor::test {

inline bool initial_user_namespace() {
  std::ifstream map("/proc/self/uid_map");
  unsigned long inside = 1;
  unsigned long outside = 1;
  unsigned long length = 0;
  map >> inside >> outside >> length;
  return inside == 0 && outside == 0 && length == 4294967295;
}

}  // namespace unmoor::test
