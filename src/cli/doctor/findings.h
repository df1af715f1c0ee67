// SPDX-License-Identifier: MIT
// From what was seen to what is wrong, in plain words.
#pragma once

#include <string>
#include <vector>

#include "cli/doctor/facts.h"

namespace unmoor::cli::doctor {

struct Finding {
  std::string id;    // stable: "slow-grace-period", "many-mounts", ...
  std::string what;  // one sentence, with the figures
  std::string why;
  std::string helps;
  std::string costs;  // what the remedy costs
};

// Empty on a healthy machine. The order is the order of importance.
[[nodiscard]] std::vector<Finding> diagnose(const Facts& facts);

// "8.0 ms", "12 us"; "310 MiB".
[[nodiscard]] std::string duration_text(double microseconds);
[[nodiscard]] std::string size_text(std::uint64_t bytes);

}  // namespace unmoor::cli::doctor
