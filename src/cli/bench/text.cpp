// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstddef>
#include <iterator>

#include <fmt/format.h>

#include "cli/bench/figures.h"
#include "cli/bench/result.h"

namespace unmoor::cli::bench {
namespace {

using measure::Side;

// "14.6 times as fast (13.9 to 15.2), 1.35 of /bin/true": nothing for the side that all is compared with.
std::string comparison(const ScenarioResult& result, std::size_t side) {
  const auto& sides = result.scenario.sides;
  std::string text;
  if (sides[side].role == measure::Role::kContender) {
    const measure::Ratio ratio = *over_reference(result, side);
    text = fmt::format("{:.2f} times as fast ({:.2f} to {:.2f})", ratio.value, ratio.low, ratio.high);
  }
  if (const auto ratio = over_floor(result, side))
    text += fmt::format("{}{:.2f} of {}", text.empty() ? "" : ", ", ratio->value,
                        sides[*floor_of(result.scenario)].command);
  return text;
}

}  // namespace

std::string environment_text(const BenchResult& result) {
  const measure::Environment& environment = result.environment;
  return fmt::format("{}, {} CPUs, {}\nrcu_normal {}, rcu_expedited {}; {}\n", environment.kernel, environment.cpus,
                     environment.version, knob_text(environment.rcu_normal), knob_text(environment.rcu_expedited),
                     versions(result));
}

std::string scenario_text(const ScenarioResult& result, measure::PerfForm form, Colour colour) {
  std::string text;
  const auto out = std::back_inserter(text);
  const bool colours = colour == Colour::kYes;
  fmt::format_to(out, "\n{}{}: {}{} ({})\n", colours ? "\x1b[1m" : "", result.scenario.name,
                 result.scenario.description, colours ? "\x1b[0m" : "", result.place);
  const auto& sides = result.scenario.sides;
  std::size_t width = 0;
  for (const Side& side : sides)
    width = std::max(width, side.command.size());
  for (std::size_t i = 0; i < sides.size(); ++i)
    text += measure::perf_stat_text(sides[i].command, result.measured.seconds[i], form);
  fmt::format_to(out, "  {:<{}}  {:>10}  {:>10}  {:>10}  {:>10}\n", "", width, "median", "10 %", "90 %", "99 %");
  for (std::size_t i = 0; i < sides.size(); ++i) {
    const auto& seconds = result.measured.seconds[i];
    fmt::format_to(out, "  {:<{}}  {:>10}  {:>10}  {:>10}  {:>10}  {}\n", sides[i].command, width,
                   duration_text(measure::median(seconds)), duration_text(measure::percentile(seconds, 0.1)),
                   duration_text(measure::percentile(seconds, 0.9)), duration_text(measure::percentile(seconds, 0.99)),
                   comparison(result, i));
  }
  if (result.disturbed) text += "  WARNING: somebody changed an RCU knob meanwhile; these figures mix two modes.\n";
  return text;
}

std::string kinds_text(const KindTable& table) {
  std::size_t width = 0;
  for (const KindRow& row : table.rows)
    width = std::max(width, row.kind.size());
  std::string text = fmt::format("\n  {:<{}}", "", width);
  const auto out = std::back_inserter(text);
  for (const std::string& program : table.programs)
    fmt::format_to(out, "  {}", program);
  text += '\n';
  std::vector<std::size_t> found(table.programs.size());
  std::vector<std::size_t> tried(table.programs.size());
  for (const KindRow& row : table.rows) {
    fmt::format_to(out, "  {:<{}}", row.kind, width);
    for (std::size_t i = 0; i < row.found.size(); ++i) {
      const char* const word = !row.found[i] ? "?" : *row.found[i] ? "yes" : "-";
      fmt::format_to(out, "  {:<{}}", word, table.programs[i].size());
      tried[i] += row.found[i].has_value() ? 1 : 0;
      found[i] += row.found[i].value_or(false) ? 1 : 0;
    }
    text.resize(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  fmt::format_to(out, "  {:<{}}", "", width);
  for (std::size_t i = 0; i < table.programs.size(); ++i)
    fmt::format_to(out, "  {:<{}}", fmt::format("{}/{}", found[i], tried[i]), table.programs[i].size());
  text.resize(text.find_last_not_of(' ') + 1);
  return text + "\n";
}

}  // namespace unmoor::cli::bench
