// SPDX-License-Identifier: MIT
// Random sequences of mount operations: the same seed, the same sequence, on every machine.
#pragma once

#include <cstdint>

#include "differential/compare.h"

namespace unmoor::differential {

struct Bounds {
  std::size_t operations = 60;
  std::size_t namespaces = 4;
  std::size_t depth = 4;  // of paths
  std::size_t pins = 4;
};

[[nodiscard]] Script generate(std::uint64_t seed, const Bounds& bounds = {});

}  // namespace unmoor::differential
