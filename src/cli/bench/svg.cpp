// SPDX-License-Identifier: MIT
// One panel for each result, one row for each side; all panels share one logarithmic axis, so that two kernels can be
// compared by eye.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

#include "cli/bench/figures.h"
#include "cli/bench/result.h"
#include "measure/statistics.h"

namespace unmoor::cli::bench {
namespace {

using measure::Role;

// In pixels.
constexpr double kWidth = 1080;
constexpr double kPlotLeft = 330;
constexpr double kPlotRight = 780;
constexpr double kRow = 20;
constexpr double kHead = 52;   // of a panel: two lines
constexpr double kTitle = 26;  // of a scenario
constexpr double kAxis = 34;   // below a panel
constexpr std::size_t kLongestCommand = 44;

std::string escaped(std::string_view text) {
  std::string safe;
  for (const char letter : text) {
    switch (letter) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      default:  // what is below a blank must not be in XML
        safe += static_cast<unsigned char>(letter) < ' ' ? ' ' : letter;
    }
  }
  return safe;
}

// Cut before a whole character of UTF-8.
std::string shortened(const std::string& text) {
  if (text.size() <= kLongestCommand) return text;
  std::size_t end = kLongestCommand - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
    --end;
  return text.substr(0, end) + "...";
}

const char* colour(Role role) {
  switch (role) {
    case Role::kReference:
      return "#8a3b12";
    case Role::kContender:
      return "#1263a8";
    case Role::kFloor:
      return "#777777";
  }
  return "";
}

// Whole decades around all runs.
struct Axis {
  int first = 0;
  int last = 1;

  explicit Axis(std::span<const BenchResult> results) {
    double low = HUGE_VAL;
    double high = 0;
    for (const BenchResult& result : results) {
      for (const ScenarioResult& scenario : result.scenarios) {
        for (const auto& seconds : scenario.measured.seconds) {
          low = std::min(low, std::ranges::min(seconds));
          high = std::max(high, std::ranges::max(seconds));
        }
      }
    }
    if (high == 0) return;
    first = static_cast<int>(std::floor(std::log10(low)));
    last = std::max(first + 1, static_cast<int>(std::ceil(std::log10(high))));
  }

  [[nodiscard]] double x(double seconds) const {
    return kPlotLeft + (std::log10(seconds) - first) / (last - first) * (kPlotRight - kPlotLeft);
  }
};

// "1 ms", "10 ms", "1 s"; nanoseconds for what is measured in process.
std::string decade_text(int decade) {
  constexpr const char* kUnits[] = {"ns", "us", "ms", "s"};
  const int unit = std::clamp((decade + 9) / 3, 0, 3);
  return fmt::format("{:g} {}", std::pow(10, decade + 9 - 3 * unit), kUnits[unit]);
}

std::string ratio_text(const ScenarioResult& result, std::size_t side) {
  std::string text = duration_text(measure::median(result.measured.seconds[side]));
  if (result.scenario.sides[side].role != Role::kContender) return text;
  const measure::Ratio ratio = *over_reference(result, side);
  return text + fmt::format(", {:.2f} times as fast ({:.2f} to {:.2f})", ratio.value, ratio.low, ratio.high);
}

class Picture {
 public:
  explicit Picture(const Axis& axis) : axis_(axis) {}

  void add(const BenchResult& result) {
    const measure::Environment& environment = result.environment;
    line(10, y_ + 20, "font-weight=\"bold\"",
         fmt::format("{}, {} CPUs, {} grace periods (rcu_normal {}, rcu_expedited {})", environment.kernel,
                     environment.cpus, grace_periods(environment), knob_text(environment.rcu_normal),
                     knob_text(environment.rcu_expedited)));
    line(10, y_ + 37, "fill=\"#555\"", fmt::format("{}; {}", environment.version, versions(result)));
    y_ += kHead;
    const double top = y_;
    for (const ScenarioResult& scenario : result.scenarios)
      add(scenario);
    add_axis(top);
  }

  [[nodiscard]] std::string text() const {
    return fmt::format(
               "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0f} {:.0f}\" font-family=\"sans-serif\" "
               "font-size=\"12\">\n<title>Times of unmounts: every run a dot, medians a stroke</title>\n"
               "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
               kWidth, y_) +
           body_ + "</svg>\n";
  }

 private:
  void line(double x, double y, std::string_view attributes, const std::string& words) {
    fmt::format_to(std::back_inserter(body_), "<text x=\"{:.1f}\" y=\"{:.1f}\" {}>{}</text>\n", x, y, attributes,
                   escaped(words));
  }

  void add(const ScenarioResult& result) {
    line(10, y_ + 18, "font-weight=\"bold\"",
         fmt::format("{} {}: {}{}", result.bench, result.scenario.name, result.scenario.description,
                     result.disturbed ? " (disturbed)" : ""));
    y_ += kTitle;
    const auto out = std::back_inserter(body_);
    for (std::size_t i = 0; i < result.scenario.sides.size(); ++i) {
      const measure::Side& side = result.scenario.sides[i];
      const auto& seconds = result.measured.seconds[i];
      const double middle = y_ + kRow / 2;
      fmt::format_to(out, "<g fill=\"{}\"><title>{}</title>\n", colour(side.role), escaped(side.command));
      line(20, middle + 4, "font-family=\"monospace\" font-size=\"11\"", shortened(side.command));
      // Runs side by side in five lanes, so that equal ones do not hide each other.
      for (std::size_t run = 0; run < seconds.size(); ++run)
        fmt::format_to(out, "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2\" fill-opacity=\".45\"/>\n",
                       axis_.x(seconds[run]), middle + (static_cast<double>(run % 5) - 2) * 2.6);
      fmt::format_to(out, "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"2\" height=\"16\"/>\n",
                     axis_.x(measure::median(seconds)) - 1, middle - 8);
      line(kPlotRight + 12, middle + 4, "", ratio_text(result, i));
      body_ += "</g>\n";
      y_ += kRow;
    }
  }

  void add_axis(double top) {
    const auto out = std::back_inserter(body_);
    for (int decade = axis_.first; decade <= axis_.last; ++decade) {
      const double x = axis_.x(std::pow(10, decade));
      fmt::format_to(out, "<line x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{0:.1f}\" y2=\"{2:.1f}\" stroke=\"#ccc\"/>\n", x,
                     top, y_ + 4);
      line(x, y_ + 18, "text-anchor=\"middle\" fill=\"#555\"", decade_text(decade));
    }
    y_ += kAxis;
  }

  const Axis& axis_;
  std::string body_;
  double y_ = 0;  // where the next thing begins
};

}  // namespace

std::string svg_text(std::span<const BenchResult> results) {
  const Axis axis(results);
  Picture picture(axis);
  for (const BenchResult& result : results)
    picture.add(result);
  return picture.text();
}

}  // namespace unmoor::cli::bench
