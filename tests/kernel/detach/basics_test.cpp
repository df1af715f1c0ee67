// SPDX-License-Identifier: MIT
// What a caller sees of one detach: the mount gone, nothing else.
#include <algorithm>
#include <csignal>
#include <filesystem>

#include "kernel/detach/scratch.h"

namespace unmoor::test {
namespace {

using detach::Caller;
using detach::Defer;
using detach::DeferReason;

int open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<int>(std::distance(begin(all), end(all)));
}

TEST_F(DetachTest, EveryPolicyDetaches) {
  const dev_t below = device_at(".");
  for (const Defer defer : {Defer::kAuto, Defer::kElsewhere, Defer::kAlways, Defer::kNever}) {
    for (const Caller caller : {Caller::kLibrary, Caller::kProgram}) {
      mount_tmpfs("m");
      ASSERT_NE(device_at("m"), below);
      const auto outcome =
          detach::detach_one(kernel::SystemCalls::real(), "m", MNT_DETACH, {.defer = defer, .caller = caller});
      ASSERT_TRUE(outcome) << outcome.error().code;
      EXPECT_EQ(device_at("m"), below);
      EXPECT_EQ(outcome->deferred, outcome->reason == DeferReason::kDeferred);
    }
  }
}

TEST_F(DetachTest, TheHelperReallyDoesIt) {
  int helped = 0;
  for (int i = 0; i < 20; ++i) {
    mount_tmpfs("m");
    const auto outcome = detach_always("m");
    ASSERT_TRUE(outcome);
    helped += outcome->reason == DeferReason::kDeferred || outcome->reason == DeferReason::kFinishedFirst ? 1 : 0;
  }
  // On a busy machine a helper may take longer than it is given; never all of them.
  if (helped == 0) GTEST_SKIP() << "needs a helper: seccomp, limits or no /proc here";
  EXPECT_GT(helped, 5);
}

TEST_F(DetachTest, PlainUmountKeepsItsPromise) {
  mount_tmpfs("m");
  const auto outcome = detach_always("m", 0);
  ASSERT_TRUE(outcome);
  EXPECT_FALSE(outcome->deferred);
  EXPECT_EQ(outcome->reason, DeferReason::kNotLazy);

  mount_tmpfs("m");
  const int held = open("m", O_RDONLY | O_CLOEXEC);
  EXPECT_EQ(error_of(detach_always("m", 0)), EBUSY);
  close(held);
  EXPECT_EQ(error_of(detach_always("m", 0)), 0);
}

volatile sig_atomic_t child_signals = 0;

TEST_F(DetachTest, NoChildIsSeenAndNoneSignals) {
  struct sigaction before{};
  struct sigaction counting{};
  counting.sa_handler = [](int) { child_signals = child_signals + 1; };
  ASSERT_EQ(sigaction(SIGCHLD, &counting, &before), 0);
  child_signals = 0;
  for (int i = 0; i < 100; ++i) {
    mount_tmpfs("m");
    ASSERT_TRUE(detach_always("m"));
    int status = 0;
    ASSERT_EQ(waitpid(-1, &status, WNOHANG), -1) << "round " << i;
    ASSERT_EQ(errno, ECHILD);
  }
  detach::reap_helpers();
  usleep(50000);
  EXPECT_EQ(child_signals, 0);
  struct sigaction after{};
  ASSERT_EQ(sigaction(SIGCHLD, &before, &after), 0);
  EXPECT_EQ(after.sa_handler, counting.sa_handler);
}

TEST_F(DetachTest, NothingIsLeftBehind) {
  mount_tmpfs("m");
  ASSERT_TRUE(detach_always("m"));  // makes the program file
  const int before = open_descriptors();
  for (int round = 0; round < 500; ++round) {
    mount_tmpfs("m");
    ASSERT_TRUE(detach_always("m"));
  }
  EXPECT_EQ(open_descriptors(), before);
  detach::reap_helpers();
  int status = 0;
  EXPECT_EQ(waitpid(-1, &status, WNOHANG | __WALL), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST_F(DetachTest, TheSignalMaskAndTheDirectoriesStay) {
  mount_tmpfs("m");
  sigset_t before;
  sigset_t after;
  ASSERT_EQ(pthread_sigmask(SIG_SETMASK, nullptr, &before), 0);
  const std::string here = std::filesystem::current_path();
  ASSERT_TRUE(detach_always("m"));
  ASSERT_EQ(pthread_sigmask(SIG_SETMASK, nullptr, &after), 0);
  for (int signal = 1; signal < 65; ++signal)
    EXPECT_EQ(sigismember(&before, signal), sigismember(&after, signal));
  EXPECT_EQ(std::filesystem::current_path(), here);
}

}  // namespace
}  // namespace unmoor::test
