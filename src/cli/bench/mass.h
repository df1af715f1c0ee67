// SPDX-License-Identifier: MIT
// Scenarios with many mounts: util-linux, ours, and a bare loop of umount2(2).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/bench/benches.h"

namespace unmoor::cli::bench {

[[nodiscard]] std::vector<Planned> mass_plans(const std::string& unmoor, std::size_t mounts);

}  // namespace unmoor::cli::bench
