// SPDX-License-Identifier: MIT
#include "measure/perf_text.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "measure/statistics.h"

namespace unmoor::measure {
namespace {

constexpr int kWidth = 17;  // of the first figure, after one space

// As many digits as make three significant ones of the deviation.
int precision_for(double deviation) {
  if (deviation <= 0 || deviation >= 1) return 2;
  return static_cast<int>(std::ceil(-std::log10(deviation))) + 2;
}

// One '#' per five percent that a run is off the mean, at least one.
std::string bar(double run, double middle) {
  constexpr std::size_t kLongest = 60;
  const double percent = run > 0 ? std::fabs(run - middle) / run * 100 : 0;
  return std::string(std::min(kLongest, static_cast<std::size_t>(percent / 5) + 1), '#');
}

}  // namespace

std::string perf_stat_text(std::string_view command, std::span<const double> seconds, PerfForm form) {
  std::string text;
  const auto out = std::back_inserter(text);
  const double middle = mean(seconds);
  if (seconds.size() == 1) {
    fmt::format_to(out, "\n Performance counter stats for '{}':\n\n {:{}.9f} seconds time elapsed\n\n", command, middle,
                   kWidth);
    return text;
  }
  const double deviation = stddev_of_mean(seconds);
  const int precision = precision_for(deviation);
  fmt::format_to(out, "\n Performance counter stats for '{}' ({} runs):\n\n", command, seconds.size());
  if (form == PerfForm::kTable) {
    const std::string indent(static_cast<std::size_t>(std::max(1, 1 + kWidth - precision - 2)), ' ');
    fmt::format_to(out, "{}# Table of individual measurements:\n", indent);
    for (const double run : seconds)
      fmt::format_to(out, " {:{}.{}f} ({:+.{}f}) {}\n", run, kWidth, precision, run - middle, precision,
                     bar(run, middle));
    fmt::format_to(out, "\n{}# Final result:\n", indent);
  }
  fmt::format_to(out, " {:{}.{}f} +- {:.{}f} seconds time elapsed", middle, kWidth, precision, deviation, precision);
  if (deviation > 0) fmt::format_to(out, "  ( +-{:6.2f}% )", deviation / middle * 100);
  text += "\n\n";
  return text;
}

}  // namespace unmoor::measure
