// SPDX-License-Identifier: MIT
// What `unmoor bench` has measured, and its forms: text for people, JSON for programs (unmoor-bench(1)), and what
// `unmoor bench report` makes of that JSON.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "measure/environment.h"
#include "measure/perf_text.h"
#include "measure/scenario.h"

namespace unmoor::cli::bench {

struct ScenarioResult {
  std::string bench;  // "umount"
  measure::Scenario scenario;
  measure::Measured measured;  // for each side at least one run
  std::string place;           // which mount namespace, in words
  bool disturbed = false;      // somebody changed an RCU knob meanwhile
};

struct NotMeasured {
  std::string bench;
  std::string name;  // of the scenario
  std::string why;
};

// Which program finds which kind of holder.
struct KindRow {
  std::string kind;
  std::vector<std::optional<bool>> found;  // in the order of the programs; nothing: it could not be tried here
};
struct KindTable {
  std::vector<std::string> programs;
  std::vector<KindRow> rows;
};

struct BenchResult {
  std::string bench;   // as asked: "umount", or "all"
  std::string rcu;     // as asked: "current", "normal", "expedited"
  std::string unmoor;  // version
  measure::Environment environment;
  std::vector<ScenarioResult> scenarios;
  std::vector<NotMeasured> not_measured;
  std::optional<KindTable> kinds{};  // `unmoor bench who` only
};

enum class Colour : std::uint8_t { kNo, kYes };

[[nodiscard]] std::string environment_text(const BenchResult& result);
[[nodiscard]] std::string scenario_text(const ScenarioResult& result, measure::PerfForm form, Colour colour);

[[nodiscard]] std::string kinds_text(const KindTable& table);

[[nodiscard]] std::string json_text(const BenchResult& result);
// The reverse; ratios and percentiles are not read, they follow from the runs. Error: why it is no such text.
[[nodiscard]] std::expected<BenchResult, std::string> from_json(std::string_view text);

// A heading, the environment and one table for each result, GitHub's Markdown. `picture` is linked to at the top,
// unless empty.
[[nodiscard]] std::string markdown_text(std::span<const BenchResult> results, const std::string& picture);
// One picture for all: a dot for each run, a stroke for each median, ratios in words.
[[nodiscard]] std::string svg_text(std::span<const BenchResult> results);

}  // namespace unmoor::cli::bench
