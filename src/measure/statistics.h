// SPDX-License-Identifier: MIT
// What a set of measured values says. Every function wants at least one value. Thread-safe: no state.
#pragma once

#include <cstdint>
#include <span>

namespace unmoor::measure {

[[nodiscard]] double mean(std::span<const double> values);
// Standard deviation of the mean (of the sample, divided by the root of its size), as perf stat prints it after "+-".
// 0 for one value.
[[nodiscard]] double stddev_of_mean(std::span<const double> values);
// Linear interpolation between the two nearest ranks; `part` from 0 (minimum) to 1 (maximum).
[[nodiscard]] double percentile(std::span<const double> values, double part);
[[nodiscard]] double median(std::span<const double> values);

struct Ratio {
  double value;  // median(numerator) / median(denominator)
  double low;    // 95 % bootstrap interval
  double high;
};

// Resamples pairs: the runs alternate, so that what disturbs the machine disturbs neighbours of both sides alike. The
// two spans have the same size. The same input always gives the same interval.
[[nodiscard]] Ratio ratio_of_medians(std::span<const double> numerator, std::span<const double> denominator);

}  // namespace unmoor::measure
