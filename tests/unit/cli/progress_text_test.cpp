// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "cli/who/progress.h"

namespace unmoor::cli {
namespace {

constexpr std::uint64_t kMebi = 1 << 20;

TEST(ProgressText, TellsWhatIsLeftHowFastAndHowLong) {
  EXPECT_EQ(progress_text(128 * kMebi, false, 54 * kMebi), "128 MiB left, 54 MiB/s, 3 s");
  EXPECT_EQ(progress_text(5 * kMebi / 2, false, kMebi / 2), "2.5 MiB left, 0.5 MiB/s, 6 s");
}

TEST(ProgressText, TellsLessWhereLessIsKnown) {
  EXPECT_EQ(progress_text(128 * kMebi, true, 0), "at most 128 MiB left");
  EXPECT_EQ(progress_text(0, false, 54 * kMebi), "0.0 MiB left, 54 MiB/s");
  EXPECT_EQ(progress_text(std::nullopt, false, 54 * kMebi), "waiting");
}

}  // namespace
}  // namespace unmoor::cli
