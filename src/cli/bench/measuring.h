// SPDX-License-Identifier: MIT
// From scenarios to results: each in its place, under the grace periods that were asked for.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "cli/bench/benches.h"

namespace unmoor::cli::bench {

// What every bench understands.
struct CommonOptions {
  std::string rcu = "current";
  std::optional<int> runs;
  std::vector<std::string> only;
  std::chrono::seconds wait{0};
  bool json = false;
  bool list = false;
  bool table = false;
  bool private_only = false;
};

// Measures `plans` and prints; `asked` is the bench's name as the user gave it. A scenario that cannot be measured does
// not keep the next from being tried; no further one is after a signal, or when the RCU knobs cannot be set. Returns
// the exit code: 0, or 1 when something could not be measured.
[[nodiscard]] int measure_all(const std::string& asked, const std::vector<Planned>& plans,
                              const CommonOptions& options);

}  // namespace unmoor::cli::bench
