// SPDX-License-Identifier: MIT
#include "cli/bench/result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace unmoor::cli::bench {
namespace {

using measure::Role;
using testing::HasSubstr;
using testing::Not;

ScenarioResult slow_fast_floor() {
  ScenarioResult result;
  result.bench = "umount";
  result.scenario.name = "umount-l";
  result.scenario.description = "lazy umount";
  result.place = "own mount namespace";
  for (const auto& [command, role] :
       {std::pair{"umount -l mnt", Role::kReference}, std::pair{"unmoor umount -l mnt", Role::kContender},
        std::pair{"/bin/true", Role::kFloor}}) {
    measure::Side side;
    side.command = command;
    side.role = role;
    result.scenario.sides.push_back(side);
  }
  result.measured.seconds = {{0.015, 0.014, 0.016}, {0.001, 0.0011, 0.0009}, {0.0008, 0.0008, 0.0009}};
  return result;
}

TEST(BenchText, ComparesWithTheReferenceAndTheFloor) {
  const std::string text = scenario_text(slow_fast_floor(), measure::PerfForm::kSummary, Colour::kNo);
  EXPECT_THAT(text, HasSubstr("umount-l: lazy umount (own mount namespace)"));
  EXPECT_THAT(text, HasSubstr("Performance counter stats for 'umount -l mnt' (3 runs)"));
  EXPECT_THAT(text, HasSubstr("15.000 ms"));
  EXPECT_THAT(text, HasSubstr("15.00 times as fast ("));
  EXPECT_THAT(text, HasSubstr("1.25 of /bin/true"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, Not(HasSubstr("WARNING")));
}

TEST(BenchText, SaysWhenTheKnobsWereDisturbed) {
  ScenarioResult result = slow_fast_floor();
  result.disturbed = true;
  EXPECT_THAT(scenario_text(result, measure::PerfForm::kSummary, Colour::kNo), HasSubstr("mix two modes"));
}

TEST(BenchText, TheTableOfKindsCountsWhatWasFoundAndWhatCouldBeTried) {
  const KindTable table{
      .programs = {"unmoor who", "lsof"},
      .rows = {{"descriptor", {true, true}}, {"swap", {true, false}}, {"uprobe", {std::nullopt, false}}}};
  const std::string text = kinds_text(table);
  EXPECT_THAT(text, HasSubstr("\n  descriptor  yes         yes\n"));
  EXPECT_THAT(text, HasSubstr("\n  swap        yes         -\n"));
  EXPECT_THAT(text, HasSubstr("\n  uprobe      ?           -\n"));
  EXPECT_THAT(text, HasSubstr("              2/2         1/3\n"));
}

TEST(BenchJson, TheTableOfKinds) {
  BenchResult all;
  all.bench = "who";
  EXPECT_FALSE(nlohmann::json::parse(json_text(all)).contains("kinds"));
  all.kinds = KindTable{.programs = {"unmoor who"}, .rows = {{"swap", {true}}, {"uprobe", {std::nullopt}}}};
  const auto kinds = nlohmann::json::parse(json_text(all))["kinds"];
  ASSERT_EQ(kinds.size(), 2U);
  EXPECT_EQ(kinds[0]["kind"], "swap");
  EXPECT_EQ(kinds[0]["found"]["unmoor who"], true);
  EXPECT_TRUE(kinds[1]["found"]["unmoor who"].is_null());
}

TEST(BenchJson, HasTheDocumentedFields) {
  BenchResult all;
  all.bench = "umount";
  all.unmoor = "1.2";
  all.rcu = "normal";
  all.environment.cpus = 2;
  all.environment.rcu_normal = 1;
  all.environment.kernel = "Linux \xff";
  all.scenarios.push_back(slow_fast_floor());
  const auto document = nlohmann::json::parse(json_text(all));
  EXPECT_EQ(document["schema"], 1);
  EXPECT_EQ(document["rcu"], "normal");
  EXPECT_EQ(document["environment"]["unmoor"], "1.2");
  EXPECT_EQ(document["environment"]["cpus"], 2);
  EXPECT_EQ(document["environment"]["rcu_normal"], 1);
  EXPECT_TRUE(document["environment"]["rcu_expedited"].is_null());
  EXPECT_EQ(document["not_measured"], nlohmann::json::array());
  EXPECT_EQ(document["scenarios"][0]["bench"], "umount");
  const auto& sides = document["scenarios"][0]["sides"];
  ASSERT_EQ(sides.size(), 3U);
  EXPECT_EQ(sides[0]["role"], "reference");
  EXPECT_FALSE(sides[0].contains("reference_over_this"));
  EXPECT_EQ(sides[1]["seconds"].size(), 3U);
  EXPECT_DOUBLE_EQ(sides[1]["median"], 0.001);
  EXPECT_NEAR(sides[1]["p99"], 0.0011, 1e-5);
  EXPECT_NEAR(sides[1]["reference_over_this"]["value"], 15.0, 1e-9);
  EXPECT_NEAR(sides[1]["this_over_floor"]["value"], 1.25, 1e-9);
  EXPECT_FALSE(sides[2].contains("this_over_floor"));
}

}  // namespace
}  // namespace unmoor::cli::bench
