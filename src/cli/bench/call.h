// SPDX-License-Identifier: MIT
// Scenarios of one call in this process: umount2(2), and unmoor_detach(3) in its place.
#pragma once

#include <cstdint>
#include <vector>

#include "cli/bench/benches.h"

namespace unmoor::cli::bench {

// `resident_megabytes`: what the process has in memory in the second of them.
[[nodiscard]] std::vector<Planned> call_plans(std::uint64_t resident_megabytes);

}  // namespace unmoor::cli::bench
