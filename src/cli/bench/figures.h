// SPDX-License-Identifier: MIT
// What every form of a result says in the same words.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "cli/bench/result.h"
#include "measure/statistics.h"

namespace unmoor::cli::bench {

// "15.0 us", "15.000 ms", "1.500 s".
[[nodiscard]] std::string duration_text(double seconds);
// "not readable" when there is none.
[[nodiscard]] std::string knob_text(std::optional<int> knob);
// "normal", "expedited" or "unknown": what rcu_normal makes of an unmount's grace period.
[[nodiscard]] std::string grace_periods(const measure::Environment& environment);
// "unmoor 1.0, umount from util-linux 2.38.1, ...": what was measured, as far as it is there.
[[nodiscard]] std::string versions(const BenchResult& result);

[[nodiscard]] std::optional<std::size_t> floor_of(const measure::Scenario& scenario);
// How many times as fast as the reference a side is; nothing for the reference itself.
[[nodiscard]] std::optional<measure::Ratio> over_reference(const ScenarioResult& result, std::size_t side);
// A side's share of the floor; nothing for the floor itself, and where there is none.
[[nodiscard]] std::optional<measure::Ratio> over_floor(const ScenarioResult& result, std::size_t side);

}  // namespace unmoor::cli::bench
