// SPDX-License-Identifier: MIT
#include <cstddef>
#include <optional>

#include <nlohmann/json.hpp>

#include "cli/bench/result.h"
#include "measure/statistics.h"

namespace unmoor::cli::bench {
namespace {

using nlohmann::ordered_json;

ordered_json optional(std::optional<int> value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

const char* role_name(measure::Role role) {
  switch (role) {
    case measure::Role::kReference:
      return "reference";
    case measure::Role::kContender:
      return "contender";
    case measure::Role::kFloor:
      return "floor";
  }
  return "";
}

ordered_json ratio(std::span<const double> numerator, std::span<const double> denominator) {
  const measure::Ratio value = measure::ratio_of_medians(numerator, denominator);
  return {{"value", value.value}, {"low", value.low}, {"high", value.high}};
}

ordered_json scenario(const ScenarioResult& result) {
  ordered_json sides = ordered_json::array();
  for (std::size_t i = 0; i < result.scenario.sides.size(); ++i) {
    const measure::Side& side = result.scenario.sides[i];
    const auto& seconds = result.measured.seconds[i];
    ordered_json entry = {{"command", side.command},
                          {"role", role_name(side.role)},
                          {"seconds", seconds},
                          {"mean", measure::mean(seconds)},
                          {"stddev_of_mean", measure::stddev_of_mean(seconds)},
                          {"median", measure::median(seconds)},
                          {"p10", measure::percentile(seconds, 0.1)},
                          {"p90", measure::percentile(seconds, 0.9)}};
    if (i != 0) entry["reference_over_this"] = ratio(result.measured.seconds[0], seconds);
    for (std::size_t other = 0; other < result.scenario.sides.size(); ++other) {
      if (other != i && result.scenario.sides[other].role == measure::Role::kFloor)
        entry["this_over_floor"] = ratio(seconds, result.measured.seconds[other]);
    }
    sides.push_back(std::move(entry));
  }
  return {{"name", result.scenario.name},
          {"description", result.scenario.description},
          {"mount_namespace", result.place},
          {"disturbed", result.disturbed},
          {"sides", std::move(sides)}};
}

}  // namespace

std::string json_text(const BenchResult& result) {
  ordered_json scenarios = ordered_json::array();
  for (const ScenarioResult& one : result.scenarios)
    scenarios.push_back(scenario(one));
  const measure::Environment& environment = result.environment;
  const ordered_json document = {{"schema", 1},
                                 {"bench", result.bench},
                                 {"rcu", result.rcu},
                                 {"environment",
                                  {{"kernel", environment.kernel},
                                   {"version", environment.version},
                                   {"cpus", environment.cpus},
                                   {"rcu_normal", optional(environment.rcu_normal)},
                                   {"rcu_expedited", optional(environment.rcu_expedited)},
                                   {"unmoor", UNMOOR_VERSION},
                                   {"util_linux", environment.util_linux}}},
                                 {"scenarios", std::move(scenarios)}};
  // A path is bytes; what is not UTF-8 in it is replaced.
  return document.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace unmoor::cli::bench
