// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "cli/bench/figures.h"
#include "cli/bench/result.h"
#include "measure/statistics.h"

namespace unmoor::cli::bench {
namespace {

using measure::Role;
using nlohmann::ordered_json;

constexpr int kSchema = 1;

constexpr std::array kRoles = {
    std::pair{Role::kReference, "reference"},
    std::pair{Role::kContender, "contender"},
    std::pair{Role::kFloor, "floor"},
};

const char* role_name(Role role) {
  for (const auto& [value, name] : kRoles) {
    if (value == role) return name;
  }
  return "";
}

std::optional<Role> role_of(const std::string& word) {
  for (const auto& [value, name] : kRoles) {
    if (word == name) return value;
  }
  return std::nullopt;
}

ordered_json optional(std::optional<int> value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

std::optional<int> optional_from(const ordered_json& value) {
  return value.is_null() ? std::nullopt : std::optional(value.get<int>());
}

ordered_json ratio(const measure::Ratio& value) {
  return {{"value", value.value}, {"low", value.low}, {"high", value.high}};
}

ordered_json kinds(const KindTable& table) {
  ordered_json rows = ordered_json::array();
  for (const KindRow& row : table.rows) {
    ordered_json found = ordered_json::object();
    for (std::size_t i = 0; i < row.found.size(); ++i)
      found[table.programs[i]] = row.found[i] ? ordered_json(*row.found[i]) : ordered_json(nullptr);
    rows.push_back({{"kind", row.kind}, {"found", std::move(found)}});
  }
  return rows;
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
                          {"p90", measure::percentile(seconds, 0.9)},
                          {"p99", measure::percentile(seconds, 0.99)}};
    if (const auto value = over_reference(result, i)) entry["reference_over_this"] = ratio(*value);
    if (const auto value = over_floor(result, i)) entry["this_over_floor"] = ratio(*value);
    sides.push_back(std::move(entry));
  }
  return {
      {"bench", result.bench},           {"name", result.scenario.name},  {"description", result.scenario.description},
      {"mount_namespace", result.place}, {"disturbed", result.disturbed}, {"sides", std::move(sides)}};
}

measure::Environment environment_from(const ordered_json& from) {
  measure::Environment environment;
  from.at("kernel").get_to(environment.kernel);
  from.at("version").get_to(environment.version);
  from.at("cpus").get_to(environment.cpus);
  from.at("cpu").get_to(environment.cpu);
  environment.rcu_normal = optional_from(from.at("rcu_normal"));
  environment.rcu_expedited = optional_from(from.at("rcu_expedited"));
  from.at("util_linux").get_to(environment.util_linux);
  from.at("crun").get_to(environment.crun);
  from.at("bubblewrap").get_to(environment.bubblewrap);
  return environment;
}

std::expected<ScenarioResult, std::string> scenario_from(const ordered_json& from) {
  ScenarioResult result;
  from.at("bench").get_to(result.bench);
  from.at("name").get_to(result.scenario.name);
  from.at("description").get_to(result.scenario.description);
  from.at("mount_namespace").get_to(result.place);
  from.at("disturbed").get_to(result.disturbed);
  const auto bad = [&](const char* what) { return std::unexpected(result.scenario.name + ": " + what); };
  for (const ordered_json& entry : from.at("sides")) {
    const std::optional<Role> role = role_of(entry.at("role").get<std::string>());
    if (!role) return bad("a side has no role known here");
    measure::Side side;
    side.role = *role;
    entry.at("command").get_to(side.command);
    const auto& seconds = result.measured.seconds.emplace_back(entry.at("seconds").get<std::vector<double>>());
    // The statistics pair the runs of two sides.
    if (seconds.empty() || seconds.size() != result.measured.seconds.front().size())
      return bad("not all sides have the same number of runs");
    if (!std::ranges::all_of(seconds, [](double run) { return run > 0; })) return bad("a run took no time");
    result.scenario.sides.push_back(std::move(side));
  }
  if (result.scenario.sides.empty() || result.scenario.sides[0].role != Role::kReference)
    return bad("the first side is not the reference");
  return result;
}

std::expected<BenchResult, std::string> result_from(const ordered_json& document) {
  if (document.at("schema") != kSchema) return std::unexpected("a schema not known here");
  BenchResult result;
  document.at("bench").get_to(result.bench);
  document.at("rcu").get_to(result.rcu);
  result.environment = environment_from(document.at("environment"));
  document.at("environment").at("unmoor").get_to(result.unmoor);
  for (const ordered_json& one : document.at("scenarios")) {
    std::expected<ScenarioResult, std::string> read = scenario_from(one);
    if (!read) return std::unexpected(read.error());
    result.scenarios.push_back(std::move(*read));
  }
  for (const ordered_json& one : document.at("not_measured"))
    result.not_measured.push_back({one.at("bench"), one.at("name"), one.at("why")});
  return result;
}

}  // namespace

std::string json_text(const BenchResult& result) {
  ordered_json scenarios = ordered_json::array();
  for (const ScenarioResult& one : result.scenarios)
    scenarios.push_back(scenario(one));
  ordered_json not_measured = ordered_json::array();
  for (const NotMeasured& one : result.not_measured)
    not_measured.push_back({{"bench", one.bench}, {"name", one.name}, {"why", one.why}});
  const measure::Environment& environment = result.environment;
  ordered_json document = {{"schema", kSchema},
                           {"bench", result.bench},
                           {"rcu", result.rcu},
                           {"environment",
                            {{"kernel", environment.kernel},
                             {"version", environment.version},
                             {"cpus", environment.cpus},
                             {"cpu", environment.cpu},
                             {"rcu_normal", optional(environment.rcu_normal)},
                             {"rcu_expedited", optional(environment.rcu_expedited)},
                             {"unmoor", result.unmoor},
                             {"util_linux", environment.util_linux},
                             {"crun", environment.crun},
                             {"bubblewrap", environment.bubblewrap}}},
                           {"scenarios", std::move(scenarios)},
                           {"not_measured", std::move(not_measured)}};
  if (result.kinds) document["kinds"] = kinds(*result.kinds);
  // A path is bytes; what is not UTF-8 in it is replaced.
  return document.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::expected<BenchResult, std::string> from_json(std::string_view text) {
  try {
    return result_from(ordered_json::parse(text));
  } catch (const nlohmann::json::exception& error) {
    return std::unexpected(error.what());
  }
}

}  // namespace unmoor::cli::bench
