// SPDX-License-Identifier: MIT
// The line on the terminal: after a second, not before, and nowhere else.
#include <optional>

#include "kernel/umount/umount_tree.h"
#include "measure/rcu_guard.h"

namespace unmoor::test {
namespace {

class UmountProgress : public UmountTree {
 protected:
  // One grace period each, one after the other: some 1.8 s for all of them.
  [[nodiscard]] bool slow_down() {
    measure::RcuGuard::Options options;
    options.knobs.normal = 1;
    options.wait_for_lock = std::chrono::seconds(60);
    auto guard = measure::RcuGuard::set(options);
    if (guard) guard_.emplace(std::move(*guard));
    return guard_.has_value();
  }
  void TearDown() override {
    guard_.reset();
    UmountTree::TearDown();
  }

  std::optional<measure::RcuGuard> guard_;
};

constexpr int kSlowMounts = 150;

TEST_F(UmountProgress, IsShownAfterASecondAndTakenAwayAgain) {
  for (int i = 0; i < kSlowMounts; ++i)
    mount_at(std::to_string(i));
  if (!slow_down()) GTEST_SKIP() << "needs root: to choose the kind of grace periods";
  setenv("NO_COLOR", "1", 1);
  const Ran ran = run_on_terminal(words({"-R", "--jobs=1", top_}), 80);
  unsetenv("NO_COLOR");
  if (ran.code < 0) GTEST_SKIP() << "needs /dev/ptmx";
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(left(), 0U);
  const std::size_t first = ran.out.find("umount: ");
  ASSERT_NE(first, std::string::npos) << "nothing shown";
  EXPECT_GT(std::atoi(ran.out.c_str() + first + 8), 10) << "shown too early: " << ran.out;
  EXPECT_NE(ran.out.find(" of 151"), std::string::npos) << ran.out;
  EXPECT_TRUE(ran.out.ends_with("\r\033[K")) << "left on the terminal: " << ran.out;
  for (std::size_t at = 0; (at = ran.out.find('\033', at)) != std::string::npos; ++at)
    EXPECT_EQ(ran.out.compare(at, 3, "\033[K"), 0) << "a colour, with NO_COLOR set";
}

TEST_F(UmountProgress, IsNotForAFile) {
  for (int i = 0; i < kSlowMounts; ++i)
    mount_at(std::to_string(i));
  if (!slow_down()) GTEST_SKIP() << "needs root: to choose the kind of grace periods";
  const Ran ran = umount({"-R", "--jobs=1", top_});
  EXPECT_EQ(ran.code, 0);
  EXPECT_GT(ran.took, std::chrono::seconds(1)) << "too fast to show anything";
  EXPECT_EQ(ran.out + ran.err, "");
}

TEST_F(UmountProgress, IsNotForWhatIsOverAtOnce) {
  for (int i = 0; i < 20; ++i)
    mount_at(std::to_string(i));
  const Ran ran = run_on_terminal(words({"-R", top_}), 80);
  if (ran.code < 0) GTEST_SKIP() << "needs /dev/ptmx";
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.out, "");
}

}  // namespace
}  // namespace unmoor::test
