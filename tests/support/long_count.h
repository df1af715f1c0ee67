// SPDX-License-Identifier: MIT
// Long counts run in full under `make check-long`.
#pragma once

#include <cstdlib>

namespace unmoor::test {

inline int long_count(int full, int part) {
  return std::getenv("UNMOOR_LONG") != nullptr ? full : full / part;
}

}  // namespace unmoor::test
