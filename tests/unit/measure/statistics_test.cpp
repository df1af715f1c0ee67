// SPDX-License-Identifier: MIT
#include "measure/statistics.h"

#include <array>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace unmoor::measure {
namespace {

TEST(Statistics, MeanAndDeviationOfTheMean) {
  const std::array values = {2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0};
  EXPECT_DOUBLE_EQ(mean(values), 5.0);
  // Squares sum to 32; of the sample: sqrt(32/7); of the mean: divided by sqrt(8).
  EXPECT_NEAR(stddev_of_mean(values), std::sqrt(32.0 / 7.0 / 8.0), 1e-12);
  EXPECT_EQ(stddev_of_mean(std::array{3.0}), 0);
}

TEST(Statistics, PercentilesInterpolateAndDoNotNeedOrder) {
  const std::array values = {40.0, 10.0, 30.0, 20.0};
  EXPECT_DOUBLE_EQ(median(values), 25.0);
  EXPECT_DOUBLE_EQ(percentile(values, 0), 10.0);
  EXPECT_DOUBLE_EQ(percentile(values, 1), 40.0);
  EXPECT_DOUBLE_EQ(percentile(values, 0.1), 13.0);
  EXPECT_DOUBLE_EQ(median(std::array{7.0}), 7.0);
}

TEST(Statistics, OneOutlierDoesNotMoveTheRatioOfMedians) {
  std::vector<double> slow(11, 10.0);
  std::vector<double> fast(11, 1.0);
  slow[3] = 1000;
  const Ratio ratio = ratio_of_medians(slow, fast);
  EXPECT_DOUBLE_EQ(ratio.value, 10.0);
  EXPECT_DOUBLE_EQ(ratio.low, 10.0);
  EXPECT_DOUBLE_EQ(ratio.high, 10.0);
}

TEST(Statistics, IntervalHoldsTheRatioAndIsTheSameEachTime) {
  std::vector<double> slow;
  std::vector<double> fast;
  for (int i = 0; i < 40; ++i) {
    slow.push_back(10 + (i * 7) % 13 * 0.3);
    fast.push_back(1 + (i * 5) % 11 * 0.05);
  }
  const Ratio once = ratio_of_medians(slow, fast);
  EXPECT_LT(once.low, once.value);
  EXPECT_GT(once.high, once.value);
  EXPECT_GT(once.low, 0.8 * once.value);
  EXPECT_LT(once.high, 1.2 * once.value);
  const Ratio again = ratio_of_medians(slow, fast);
  EXPECT_EQ(once.low, again.low);
  EXPECT_EQ(once.high, again.high);
}

// A machine that is ten times slower for half of the rounds slows both sides of a round alike: resampled in pairs the
// ratio stays sharp.
TEST(Statistics, PairsKeepADisturbanceOutOfTheInterval) {
  std::vector<double> slow;
  std::vector<double> fast;
  for (int i = 0; i < 41; ++i) {
    const double load = i % 2 == 0 ? 1 : 10;
    slow.push_back(5 * load);
    fast.push_back(1 * load);
  }
  const Ratio ratio = ratio_of_medians(slow, fast);
  EXPECT_DOUBLE_EQ(ratio.low, 5.0);
  EXPECT_DOUBLE_EQ(ratio.high, 5.0);
}

}  // namespace
}  // namespace unmoor::measure
