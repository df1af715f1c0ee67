// SPDX-License-Identifier: MIT
// The tree is Linux: random operations with fixed seeds, and every script on which the two once differed.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "cli/tree/kernel_runner.h"
#include "cli/tree/script.h"
#include "cli/tree/tree_runner.h"
#include "differential/generator.h"
#include "differential/shrink.h"
#include "support/kernel_version.h"
#include "support/mount_rights.h"
#include "support/user_namespace.h"

namespace unmoor::differential {
namespace {

// The tree follows 6.18. What older kernels do otherwise is in docs/linux-differences.md.
Start kernel() {
  return start_of<cli::tree::KernelRunner>();
}
Start tree() {
  return start_of<cli::tree::TreeRunner>();
}

TEST(TreeIsLinux, OnRandomOperations) {
  UNMOOR_NEEDS_MOUNTS();
  if (!test::initial_user_namespace()) GTEST_SKIP() << "needs root: a user namespace locks the mounts of /";
  if (!test::kernel_at_least(6, 18)) GTEST_SKIP() << "needs Linux 6.18: older ones differ, docs/linux-differences.md";
  const std::uint64_t seeds = std::getenv("UNMOOR_LONG") != nullptr ? 2000 : 100;
  std::size_t compared = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const Script script = generate(seed);
    const Result<Comparison> comparison = compare(kernel(), tree(), script, ListEvery::kFourthStep);
    ASSERT_TRUE(comparison) << comparison.error().doing;
    compared += comparison->compared;
    ASSERT_FALSE(comparison->divergence) << "seed " << seed << ": " << comparison->divergence->message << "\n"
                                         << script_text(script);
  }
  RecordProperty("operations", std::to_string(compared));
}

class TreeIsLinuxOnScript : public testing::TestWithParam<std::string> {};

TEST_P(TreeIsLinuxOnScript, StepByStep) {
  UNMOOR_NEEDS_MOUNTS();
  if (!test::kernel_at_least(6, 18)) GTEST_SKIP() << "needs Linux 6.18: older ones differ, docs/linux-differences.md";
  std::ifstream file(std::string(UNMOOR_SCRIPTS) + "/" + GetParam() + ".mounts");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const auto script = cli::tree::parse_script(text);
  ASSERT_TRUE(script) << script.error().message;
  ASSERT_FALSE(script->empty());
  const Result<Comparison> comparison = compare(kernel(), tree(), *script, ListEvery::kStep);
  ASSERT_TRUE(comparison) << comparison.error().doing;
  if (comparison->divergence && !test::initial_user_namespace())
    GTEST_SKIP() << "needs root: a user namespace locks the mounts of /";
  EXPECT_FALSE(comparison->divergence) << "line " << (*script)[comparison->divergence->step].line << ": "
                                       << comparison->divergence->message;
  // What the script itself says.
  Result<cli::tree::TreeRunner> runner = cli::tree::TreeRunner::start();
  ASSERT_TRUE(runner);
  for (const cli::tree::Operation& operation : *script) {
    EXPECT_EQ(*runner->run(operation), operation.expected_errno.value_or(0)) << "line " << operation.line;
  }
}

std::vector<std::string> scripts() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(UNMOOR_SCRIPTS)) {
    names.push_back(entry.path().stem().string());
  }
  return names;
}

std::string name_of(const testing::TestParamInfo<std::string>& script) {
  std::string name = script.param;
  for (char& c : name)
    c = c == '-' ? '_' : c;
  return name;
}

INSTANTIATE_TEST_SUITE_P(Differences, TreeIsLinuxOnScript, testing::ValuesIn(scripts()), name_of);

}  // namespace
}  // namespace unmoor::differential
