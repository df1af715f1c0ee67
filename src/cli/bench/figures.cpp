// SPDX-License-Identifier: MIT
#include "cli/bench/figures.h"

#include <algorithm>

#include <fmt/format.h>

namespace unmoor::cli::bench {

using measure::Role;

std::string duration_text(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.1f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.3f} ms", seconds * 1e3);
  return fmt::format("{:.3f} s", seconds);
}

std::string knob_text(std::optional<int> knob) {
  return knob ? std::to_string(*knob) : "not readable";
}

std::string grace_periods(const measure::Environment& environment) {
  if (!environment.rcu_normal) return "unknown";
  return *environment.rcu_normal != 0 ? "normal" : "expedited";
}

std::string versions(const BenchResult& result) {
  std::string text = "unmoor " + result.unmoor;
  for (const std::string* const version :
       {&result.environment.util_linux, &result.environment.crun, &result.environment.bubblewrap}) {
    // Without what umount(8) adds in brackets about how it was built.
    if (!version->empty()) text += ", " + version->substr(0, version->find(" ("));
  }
  return text;
}

std::optional<std::size_t> floor_of(const measure::Scenario& scenario) {
  const auto found = std::ranges::find(scenario.sides, Role::kFloor, &measure::Side::role);
  if (found == scenario.sides.end()) return std::nullopt;
  return static_cast<std::size_t>(found - scenario.sides.begin());
}

std::optional<measure::Ratio> over_reference(const ScenarioResult& result, std::size_t side) {
  if (result.scenario.sides[side].role == Role::kReference) return std::nullopt;
  return measure::ratio_of_medians(result.measured.seconds[0], result.measured.seconds[side]);
}

std::optional<measure::Ratio> over_floor(const ScenarioResult& result, std::size_t side) {
  const std::optional<std::size_t> lowest = floor_of(result.scenario);
  if (!lowest || *lowest == side) return std::nullopt;
  return measure::ratio_of_medians(result.measured.seconds[side], result.measured.seconds[*lowest]);
}

}  // namespace unmoor::cli::bench
