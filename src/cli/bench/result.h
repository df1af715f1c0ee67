// SPDX-License-Identifier: MIT
// What `unmoor bench` has measured, and its two forms: text for people, JSON for programs (unmoor-bench(1)).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "measure/environment.h"
#include "measure/perf_text.h"
#include "measure/scenario.h"

namespace unmoor::cli::bench {

struct ScenarioResult {
  measure::Scenario scenario;
  measure::Measured measured;
  std::string place;       // which mount namespace, in words
  bool disturbed = false;  // somebody changed an RCU knob meanwhile
};

struct BenchResult {
  std::string bench;  // "umount"
  std::string rcu;    // as asked: "current", "normal", "expedited"
  measure::Environment environment;
  std::vector<ScenarioResult> scenarios;
};

enum class Colour : std::uint8_t { kNo, kYes };

[[nodiscard]] std::string environment_text(const measure::Environment& environment);
[[nodiscard]] std::string scenario_text(const ScenarioResult& result, measure::PerfForm form, Colour colour);
[[nodiscard]] std::string json_text(const BenchResult& result);

}  // namespace unmoor::cli::bench
