// SPDX-License-Identifier: MIT
// What `unmoor bench report` makes of what `unmoor bench --json` wrote.
#include <regex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/bench/result.h"

namespace unmoor::cli::bench {
namespace {

using measure::Role;
using testing::HasSubstr;
using testing::Not;

BenchResult lazy_umount() {
  BenchResult result;
  result.bench = "all";
  result.rcu = "current";
  result.unmoor = "1.2";
  result.environment.kernel = "Linux 6.1.0-rt x86_64";
  result.environment.version = "#1 SMP PREEMPT_RT";
  result.environment.cpus = 8;
  result.environment.cpu = "QEMU TCG";
  result.environment.rcu_normal = 1;
  result.environment.util_linux = "umount from util-linux 2.38 (libmount 2.38: btrfs)";
  result.environment.crun = "crun version 1.8";
  ScenarioResult& scenario = result.scenarios.emplace_back();
  scenario.bench = "umount";
  scenario.place = "own mount namespace";
  scenario.scenario.name = "umount-l";
  scenario.scenario.description = "a < b | c";
  for (const auto& [command, role] :
       {std::pair{"umount -l mnt", Role::kReference}, std::pair{"unmoor umount -l mnt", Role::kContender},
        std::pair{"/bin/true", Role::kFloor}}) {
    measure::Side& side = scenario.scenario.sides.emplace_back();
    side.command = command;
    side.role = role;
  }
  scenario.measured.seconds = {{0.015, 0.014, 0.016}, {0.001, 0.0011, 0.0009}, {0.0008, 0.0008, 0.0009}};
  result.not_measured.push_back({"exec", "crun", "posix_spawn crun: No such file or directory"});
  return result;
}

std::size_t count(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  return static_cast<std::size_t>(
      std::distance(std::sregex_iterator(text.begin(), text.end(), regex), std::sregex_iterator()));
}

TEST(BenchReport, WhatIsWrittenIsReadBack) {
  const std::string text = json_text(lazy_umount());
  const auto read = from_json(text);
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(json_text(*read), text);
}

TEST(BenchReport, SaysWhatIsWrongWithAFile) {
  const auto document = nlohmann::json::parse(json_text(lazy_umount()));
  const auto error_of = [](const nlohmann::json& changed) {
    const auto read = from_json(changed.dump());
    return read ? "none" : read.error();
  };
  EXPECT_EQ(error_of(document), "none");
  EXPECT_THAT(from_json("{").error(), HasSubstr("parse error"));
  EXPECT_THAT(from_json("{}").error(), HasSubstr("schema"));
  auto changed = document;
  changed["schema"] = 2;
  EXPECT_EQ(error_of(changed), "a schema not known here");
  changed = document;
  changed["scenarios"][0]["sides"][1]["role"] = "judge";
  EXPECT_EQ(error_of(changed), "umount-l: a side has no role known here");
  changed = document;
  changed["scenarios"][0]["sides"][1]["seconds"] = {0.1};
  EXPECT_EQ(error_of(changed), "umount-l: not all sides have the same number of runs");
  changed = document;
  changed["scenarios"][0]["sides"][1]["seconds"][0] = 0;
  EXPECT_EQ(error_of(changed), "umount-l: a run took no time");
  changed = document;
  changed["scenarios"][0]["sides"].erase(0);
  EXPECT_EQ(error_of(changed), "umount-l: the first side is not the reference");
}

TEST(BenchReport, TheTableHasEverySideAndWhereItWasMeasured) {
  const std::vector results = {lazy_umount()};
  const std::string text = markdown_text(results, "");
  EXPECT_THAT(text, HasSubstr("## Linux 6.1.0-rt x86\\_64, 8 CPUs, normal grace periods\n"));
  EXPECT_THAT(text, HasSubstr("#1 SMP PREEMPT\\_RT; QEMU TCG; rcu\\_normal 1, rcu\\_expedited not readable; "
                              "unmoor 1.2, umount from util-linux 2.38, crun version 1.8.\n"));
  EXPECT_THAT(text, HasSubstr("| **umount umount-l**: a \\< b \\| c | `umount -l mnt` | 3 | 15.000 ms | 14.200 ms to "
                              "15.800 ms | 15.000 ms ± 577.4 us |  | 18.75 ("));
  EXPECT_THAT(text,
              HasSubstr("|  | `unmoor umount -l mnt` | 3 | 1.000 ms | 920.0 us to 1.080 ms | 1.000 ms ± 57.7 us | "
                        "15.00 ("));
  EXPECT_THAT(text, HasSubstr("|  | `/bin/true` | 3 | 800.0 us |"));
  EXPECT_THAT(text, HasSubstr("Not measured: exec crun: posix\\_spawn crun: No such file or directory.\n"));
  EXPECT_THAT(text, Not(HasSubstr("![")));
  EXPECT_THAT(text, Not(HasSubstr("disturbed")));
}

TEST(BenchReport, EachResultHasATableOfItsOwn) {
  std::vector results = {lazy_umount(), lazy_umount()};
  results[1].environment.rcu_normal = 0;
  results[1].scenarios[0].disturbed = true;
  const std::string text = markdown_text(results, "runs.svg");
  EXPECT_THAT(text, testing::StartsWith("![Every run of what is in the tables](runs.svg)\n\n## Linux"));
  EXPECT_THAT(text, HasSubstr("8 CPUs, normal grace periods\n"));
  EXPECT_THAT(text, HasSubstr("\n\n## Linux 6.1.0-rt x86\\_64, 8 CPUs, expedited grace periods\n"));
  EXPECT_EQ(count(text, "\\(disturbed: "), 1U);
  EXPECT_EQ(count(text, "\\| scenario \\|"), 2U);
}

TEST(BenchReport, ThePictureHasADotForEachRunAndAStrokeForEachMedian) {
  const std::vector results = {lazy_umount(), lazy_umount()};
  const std::string text = svg_text(results);
  EXPECT_EQ(count(text, "<circle "), 2U * 3 * 3);
  EXPECT_EQ(count(text, "<rect [^>]*width=\"2\""), 2U * 3);
  EXPECT_THAT(text, HasSubstr("umount umount-l: a &lt; b | c<"));
  EXPECT_THAT(text, HasSubstr("1.000 ms, 15.00 times as fast (12.73 to 17.78)"));
  EXPECT_THAT(text, HasSubstr("Linux 6.1.0-rt x86_64, 8 CPUs, normal grace periods (rcu_normal 1, rcu_expedited not "
                              "readable)"));
  // 0.8 ms to 16 ms: the axis goes from 100 us to 100 ms, and a median of 1 ms lies on its second line.
  EXPECT_THAT(text, HasSubstr(">100 us<"));
  EXPECT_THAT(text, HasSubstr(">100 ms<"));
  EXPECT_THAT(text, HasSubstr("<line x1=\"480.0\""));
  EXPECT_THAT(text, HasSubstr("<rect x=\"479.0\""));
}

TEST(BenchReport, ThePictureOfNothingIsAPicture) {
  const std::vector<BenchResult> results(1);
  EXPECT_EQ(count(svg_text(results), "<circle "), 0U);
  EXPECT_THAT(svg_text(results), testing::EndsWith("</svg>\n"));
}

}  // namespace
}  // namespace unmoor::cli::bench
