// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "cli/bench/result.h"
#include "measure/statistics.h"

namespace unmoor::cli::bench {
namespace {

using measure::Role;
using measure::Side;

std::string knob(std::optional<int> value) {
  return value ? std::to_string(*value) : "not readable";
}

std::string duration(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.1f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.3f} ms", seconds * 1e3);
  return fmt::format("{:.3f} s ", seconds);
}

std::optional<std::size_t> floor_of(const std::vector<Side>& sides) {
  const auto found = std::ranges::find(sides, Role::kFloor, &Side::role);
  if (found == sides.end()) return std::nullopt;
  return static_cast<std::size_t>(found - sides.begin());
}

// "14.6 times as fast (13.9 to 15.2), 1.35 of /bin/true": nothing for the side that all is compared with.
std::string comparison(const ScenarioResult& result, std::size_t side) {
  const auto& sides = result.scenario.sides;
  const auto& seconds = result.measured.seconds;
  std::string text;
  if (sides[side].role == Role::kContender) {
    const measure::Ratio ratio = measure::ratio_of_medians(seconds[0], seconds[side]);
    text = fmt::format("{:.2f} times as fast ({:.2f} to {:.2f})", ratio.value, ratio.low, ratio.high);
  }
  const std::optional<std::size_t> lowest = floor_of(sides);
  if (lowest && *lowest != side) {
    const measure::Ratio ratio = measure::ratio_of_medians(seconds[side], seconds[*lowest]);
    text += fmt::format("{}{:.2f} of {}", text.empty() ? "" : ", ", ratio.value, sides[*lowest].command);
  }
  return text;
}

}  // namespace

std::string environment_text(const measure::Environment& environment) {
  return fmt::format("{}, {} CPUs, {}\nrcu_normal {}, rcu_expedited {}; unmoor {}, {}\n", environment.kernel,
                     environment.cpus, environment.version, knob(environment.rcu_normal),
                     knob(environment.rcu_expedited), UNMOOR_VERSION,
                     environment.util_linux.empty() ? "no umount(8)" : environment.util_linux);
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
  fmt::format_to(out, "  {:<{}}  {:>10}  {:>10}  {:>10}\n", "", width, "median", "10 %", "90 %");
  for (std::size_t i = 0; i < sides.size(); ++i) {
    const auto& seconds = result.measured.seconds[i];
    fmt::format_to(out, "  {:<{}}  {:>10}  {:>10}  {:>10}  {}\n", sides[i].command, width,
                   duration(measure::median(seconds)), duration(measure::percentile(seconds, 0.1)),
                   duration(measure::percentile(seconds, 0.9)), comparison(result, i));
  }
  if (result.disturbed) text += "  WARNING: somebody changed an RCU knob meanwhile; these figures mix two modes.\n";
  return text;
}

}  // namespace unmoor::cli::bench
