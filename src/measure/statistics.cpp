// SPDX-License-Identifier: MIT
#include "measure/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <random>
#include <vector>

namespace unmoor::measure {
namespace {

double percentile_of_sorted(std::span<const double> sorted, double part) {
  const double place = part * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], place - static_cast<double>(below));
}

double median_of(std::vector<double>& values) {
  std::ranges::sort(values);
  return percentile_of_sorted(values, 0.5);
}

}  // namespace

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double stddev_of_mean(std::span<const double> values) {
  if (values.size() < 2) return 0;
  const double middle = mean(values);
  double squares = 0;
  for (const double value : values)
    squares += (value - middle) * (value - middle);
  const auto size = static_cast<double>(values.size());
  return std::sqrt(squares / (size - 1) / size);
}

double percentile(std::span<const double> values, double part) {
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  return percentile_of_sorted(sorted, part);
}

double median(std::span<const double> values) {
  return percentile(values, 0.5);
}

Ratio ratio_of_medians(std::span<const double> numerator, std::span<const double> denominator) {
  constexpr std::size_t kResamples = 2000;
  std::mt19937_64 random(20240626);  // fixed: the same runs give the same interval
  std::uniform_int_distribution<std::size_t> pick(0, numerator.size() - 1);
  std::vector<double> above(numerator.size());
  std::vector<double> below(numerator.size());
  std::vector<double> ratios(kResamples);
  for (double& ratio : ratios) {
    for (std::size_t i = 0; i < above.size(); ++i) {
      const std::size_t run = pick(random);
      above[i] = numerator[run];
      below[i] = denominator[run];
    }
    ratio = median_of(above) / median_of(below);
  }
  std::ranges::sort(ratios);
  return {median(numerator) / median(denominator), percentile_of_sorted(ratios, 0.025),
          percentile_of_sorted(ratios, 0.975)};
}

}  // namespace unmoor::measure
