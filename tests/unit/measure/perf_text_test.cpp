// SPDX-License-Identifier: MIT
// Against what perf 6.1 printed for the same figures, byte for byte.
#include "measure/perf_text.h"

#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace unmoor::measure {
namespace {

using testing::HasSubstr;

TEST(PerfText, TableOfFiveRunsAsPerfPrintsIt) {
  const std::array seconds = {0.00203308, 0.00199124, 0.00192129, 0.00187679, 0.00180637};
  EXPECT_EQ(perf_stat_text("sh -c sleep 0.0$RANDOM", seconds, PerfForm::kTable),
            "\n Performance counter stats for 'sh -c sleep 0.0$RANDOM' (5 runs):\n\n"
            "         # Table of individual measurements:\n"
            "         0.0020331 (+0.0001073) ##\n"
            "         0.0019912 (+0.0000655) #\n"
            "         0.0019213 (-0.0000045) #\n"
            "         0.0018768 (-0.0000490) #\n"
            "         0.0018064 (-0.0001194) ##\n\n"
            "         # Final result:\n"
            "         0.0019258 +- 0.0000403 seconds time elapsed  ( +-  2.09% )\n\n");
}

// The bar counts five percents of the run itself, not of the mean: the same distance is longer below.
TEST(PerfText, BarsOfTwoRunsAsPerfPrintsThem) {
  const std::array seconds = {0.0013978, 0.0009307};
  EXPECT_EQ(perf_stat_text("false", seconds, PerfForm::kTable),
            "\n Performance counter stats for 'false' (2 runs):\n\n"
            "          # Table of individual measurements:\n"
            "          0.001398 (+0.000234) ####\n"
            "          0.000931 (-0.000234) ######\n\n"
            "          # Final result:\n"
            "          0.001164 +- 0.000234 seconds time elapsed  ( +- 20.06% )\n\n");
}

TEST(PerfText, TheMailsOwnLine) {
  const std::array seconds = {0.07333 - 0.006147, 0.07333 + 0.006147};
  EXPECT_THAT(perf_stat_text("umount mnt", seconds, PerfForm::kSummary),
              HasSubstr("\n           0.07333 +- 0.00615 seconds time elapsed  ( +-  8.38% )\n"));
}

TEST(PerfText, SecondsAndNoDeviation) {
  EXPECT_THAT(perf_stat_text("x", std::array{30.0, 40.0}, PerfForm::kSummary),
              HasSubstr("\n             35.00 +- 5.00 seconds time elapsed  ( +- 14.29% )\n"));
  EXPECT_THAT(perf_stat_text("x", std::array{1.0, 1.0}, PerfForm::kSummary),
              HasSubstr("\n              1.00 +- 0.00 seconds time elapsed\n"));
}

TEST(PerfText, OneRunHasPerfsFormWithoutRepeat) {
  EXPECT_EQ(perf_stat_text("true", std::array{0.000843572}, PerfForm::kSummary),
            "\n Performance counter stats for 'true':\n\n       0.000843572 seconds time elapsed\n\n");
}

}  // namespace
}  // namespace unmoor::measure
