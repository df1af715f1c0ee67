// SPDX-License-Identifier: MIT
#include "measure/scenario.h"

#include <cerrno>
#include <csignal>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "measure/command.h"
#include "measure/interrupt.h"

namespace unmoor::measure {
namespace {

using testing::HasSubstr;

// Writes down what is called, in order: p, r, c for prepare, run, clean up, after the side's letter.
Side noted_side(char letter, std::string& calls, double seconds) {
  Side side;
  side.command = letter;
  side.prepare = [letter, &calls]() -> Result<void> {
    calls += {letter, 'p', ' '};
    return {};
  };
  side.run = [letter, &calls, seconds]() -> Result<double> {
    calls += {letter, 'r', ' '};
    return seconds;
  };
  side.clean_up = [letter, &calls]() -> Result<void> {
    calls += {letter, 'c', ' '};
    return {};
  };
  return side;
}

TEST(Scenario, SidesAlternateAndTheFirstRoundDoesNotCount) {
  std::string calls;
  const Scenario scenario{"two", "", 10, {noted_side('a', calls, 1.0), noted_side('b', calls, 2.0)}};
  const Result<Measured> measured = run_scenario(scenario, 2, {});
  ASSERT_TRUE(measured);
  EXPECT_EQ(calls,
            "ap ar ac bp br bc "
            "bp br bc ap ar ac "
            "ap ar ac bp br bc ");
  EXPECT_THAT(measured->seconds[0], testing::ElementsAre(1.0, 1.0));
  EXPECT_THAT(measured->seconds[1], testing::ElementsAre(2.0, 2.0));
}

TEST(Scenario, FailedRunIsCleanedUpAndEndsIt) {
  std::string calls;
  Scenario scenario{"one", "", 10, {noted_side('a', calls, 1.0), noted_side('b', calls, 1.0)}};
  scenario.sides[0].run = []() -> Result<double> { return fail(EIO, "run", "a"); };
  const Result<Measured> measured = run_scenario(scenario, 5, {});
  ASSERT_FALSE(measured);
  EXPECT_EQ(measured.error().object, "a");
  EXPECT_EQ(calls, "ap ac ");
}

TEST(Scenario, FailedPreparationIsCleanedUpToo) {
  std::string calls;
  Scenario scenario{"one", "", 10, {noted_side('a', calls, 1.0)}};
  scenario.sides[0].prepare = []() -> Result<void> { return fail(ENOSPC, "write", "a"); };
  ASSERT_FALSE(run_scenario(scenario, 5, {}));
  EXPECT_EQ(calls, "ac ");
}

TEST(Scenario, SignalEndsItAfterTheRunUnderWay) {
  std::string calls;
  Scenario scenario{"one", "", 10, {noted_side('a', calls, 1.0), noted_side('b', calls, 1.0)}};
  scenario.sides[0].run = []() -> Result<double> {
    raise(SIGINT);
    return 1.0;
  };
  const InterruptsNoted noted;
  const Result<Measured> measured = run_scenario(scenario, 5, {});
  ASSERT_FALSE(measured);
  EXPECT_EQ(measured.error().code, EINTR);
  EXPECT_EQ(interrupted(), SIGINT);
  EXPECT_EQ(calls, "ap ac ");
}

TEST(Command, TimeIsThatOfTheWholeCommand) {
  const Result<double> seconds = time_command({"sleep", "0.05"});
  ASSERT_TRUE(seconds);
  EXPECT_GE(*seconds, 0.05);
}

TEST(Command, FailureSaysWhatTheCommandSaid) {
  const Result<double> seconds = time_command({"sh", "-c", "echo not today >&2; exit 3"});
  ASSERT_FALSE(seconds);
  EXPECT_THAT(seconds.error().object, HasSubstr("exit 3: not today"));
}

TEST(Command, MissingProgramIsItsErrno) {
  const Result<double> seconds = time_command({"/nonexistent/program"});
  ASSERT_FALSE(seconds);
  EXPECT_EQ(seconds.error().code, ENOENT);
}

}  // namespace
}  // namespace unmoor::measure
