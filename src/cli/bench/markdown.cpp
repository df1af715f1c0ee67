// SPDX-License-Identifier: MIT
#include <iterator>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "cli/bench/figures.h"
#include "cli/bench/result.h"
#include "measure/statistics.h"

namespace unmoor::cli::bench {
namespace {

// What would end a cell or begin markup, in a text that others wrote.
std::string escaped(std::string_view text) {
  std::string safe;
  for (const char letter : text) {
    if (letter == '|' || letter == '\\' || letter == '*' || letter == '_' || letter == '<' || letter == '`')
      safe += '\\';
    safe += letter == '\n' ? ' ' : letter;
  }
  return safe;
}

// In a code span only the bar needs care (the table is cut into cells first), and a back quote cannot be had.
std::string code(std::string_view text) {
  std::string safe = "`";
  for (const char letter : text) {
    if (letter == '|') safe += '\\';
    safe += letter == '`' || letter == '\n' ? ' ' : letter;
  }
  return safe + "`";
}

std::string times(std::optional<measure::Ratio> ratio) {
  return ratio ? fmt::format("{:.2f} ({:.2f} to {:.2f})", ratio->value, ratio->low, ratio->high) : "";
}

void add_scenario(std::string& text, const ScenarioResult& result) {
  const auto out = std::back_inserter(text);
  for (std::size_t i = 0; i < result.scenario.sides.size(); ++i) {
    const measure::Side& side = result.scenario.sides[i];
    const auto& seconds = result.measured.seconds[i];
    std::string name;
    if (i == 0)
      name = fmt::format("**{} {}**: {}{}", escaped(result.bench), escaped(result.scenario.name),
                         escaped(result.scenario.description),
                         result.disturbed ? " (disturbed: an RCU knob was changed meanwhile)" : "");
    fmt::format_to(out, "| {} | {} | {} | {} | {} to {} | {} ± {} | {} | {} |\n", name, code(side.command),
                   seconds.size(), duration_text(measure::median(seconds)),
                   duration_text(measure::percentile(seconds, 0.1)), duration_text(measure::percentile(seconds, 0.9)),
                   duration_text(measure::mean(seconds)), duration_text(measure::stddev_of_mean(seconds)),
                   side.role == measure::Role::kContender ? times(over_reference(result, i)) : "",
                   times(over_floor(result, i)));
  }
}

}  // namespace

std::string markdown_text(std::span<const BenchResult> results, const std::string& picture) {
  std::string text;
  const auto out = std::back_inserter(text);
  if (!picture.empty()) fmt::format_to(out, "![Every run of what is in the tables]({})\n\n", picture);
  for (const BenchResult& result : results) {
    const measure::Environment& environment = result.environment;
    fmt::format_to(out, "{}## {}, {} CPUs, {} grace periods\n\n", &result == results.data() ? "" : "\n",
                   escaped(environment.kernel), environment.cpus, grace_periods(environment));
    fmt::format_to(out, "{}; {}; rcu\\_normal {}, rcu\\_expedited {}; {}.\n", escaped(environment.version),
                   escaped(environment.cpu), knob_text(environment.rcu_normal), knob_text(environment.rcu_expedited),
                   escaped(versions(result)));
    if (!result.scenarios.empty())
      text +=
          "\n| scenario | command | runs | median | 10 % to 90 % | mean ± its deviation | times as fast | of the floor "
          "|\n"
          "|---|---|---:|---:|---:|---:|---:|---:|\n";
    for (const ScenarioResult& scenario : result.scenarios)
      add_scenario(text, scenario);
    for (const NotMeasured& missing : result.not_measured)
      fmt::format_to(out, "\nNot measured: {} {}: {}.\n", escaped(missing.bench), escaped(missing.name),
                     escaped(missing.why));
  }
  if (!results.empty())
    text +=
        "\nTimes as fast as the first command of the scenario, and share of the floor: ratios of medians, in brackets "
        "the 95 % bootstrap interval.\n";
  return text;
}

}  // namespace unmoor::cli::bench
