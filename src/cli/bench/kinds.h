// SPDX-License-Identifier: MIT
// Which program finds which kind of holder: each kind planted alone, each program asked.
#pragma once

#include <string>

#include "cli/bench/result.h"
#include "kernel/error.h"

namespace unmoor::cli::bench {

// To be called in a scratch directory with an empty `mnt`. `unmoor` is the program to be asked.
[[nodiscard]] Result<KindTable> plant_each_kind(const std::string& unmoor);

}  // namespace unmoor::cli::bench
