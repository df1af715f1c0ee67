// SPDX-License-Identifier: MIT
// {mount, hold, umount -l --wait, release}, again and again, by the library and by the program: no wait ends early,
// none never, and nothing is left behind.
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <set>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <thread>

#include <gtest/gtest.h>

#include "gone/wait_gone.h"
#include "support/here.h"
#include "support/mount_rights.h"
#include "support/program.h"

namespace unmoor::gone {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;

// What a round could leave to this process, to its namespace, and to the machine.
struct Remains {
  std::set<std::string> descriptors;
  std::size_t threads = 0;
  std::string mounts;
};

std::set<std::string> names_in(const char* directory) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    names.insert(entry.path().filename());
  return names;
}

Remains remains() {
  return {names_in("/proc/self/fd"), names_in("/proc/self/task").size(), test::file_text("/proc/self/mountinfo")};
}

class ManyRounds : public testing::Test {
 protected:
  void SetUp() override {
    UNMOOR_NEEDS_MOUNTS();
    mkdir("X", 0755);
  }
  void TearDown() override { umount2("X", MNT_DETACH); }

  // Mounts, and opens what keeps the filesystem. Its number: the lowest that nobody has.
  unsigned mount_and_hold() {
    EXPECT_EQ(mount("x", "X", "tmpfs", 0, nullptr), 0);
    held_ = open("X", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct ::stat facts{};
    EXPECT_EQ(fstat(held_, &facts), 0);
    released_ = false;
    return minor(facts.st_dev);
  }
  void release() {
    released_ = true;
    close(held_);
  }

  int held_ = -1;
  std::atomic<bool> released_ = false;
};

// Superblocks that stay would each keep a number of their own: the numbers would grow by one a round.
TEST_F(ManyRounds, OfTheLibrary) {
  const int rounds = std::getenv("UNMOOR_LONG") != nullptr ? 10000 : 1000;
  const Remains before = remains();
  unsigned first = 0;
  unsigned last = 0;
  for (int round = 0; round < rounds; ++round) {
    last = mount_and_hold();
    if (round == 0) first = last;
    const Result<Census> census = Census::take(kernel::SystemCalls::real());
    ASSERT_TRUE(census);
    const Result<Target> target = resolve_target(*census, "X", AskFor::kWhatItNames);
    ASSERT_TRUE(target) << round;
    Result<GoneWaiter> waiter = GoneWaiter::prepare(kernel::SystemCalls::real(), *target);
    ASSERT_TRUE(waiter) << round;
    ASSERT_EQ(umount2("X", MNT_DETACH), 0);
    std::thread releaser([&] {
      std::this_thread::sleep_for(microseconds(round % 8 * 50));  // before the wait, in it, and between
      release();
    });
    const Result<Verdict> verdict = waiter->wait({.deadline = Clock::now() + seconds(20)});
    const bool early = !released_;
    releaser.join();
    ASSERT_FALSE(early) << "round " << round;
    ASSERT_TRUE(verdict) << round;
    ASSERT_EQ(verdict->outcome, Outcome::kGone) << "never, round " << round;
  }
  const Remains after = remains();
  EXPECT_EQ(after.descriptors, before.descriptors);
  EXPECT_EQ(after.threads, before.threads);
  EXPECT_EQ(after.mounts, before.mounts);
  EXPECT_LT(last, first + static_cast<unsigned>(rounds) / 2);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG | __WALL), -1);
  EXPECT_EQ(errno, ECHILD) << "a child of a wait";
}

TEST_F(ManyRounds, OfTheProgram) {
  const int rounds = std::getenv("UNMOOR_LONG") != nullptr ? 1000 : 100;
  const Remains before = remains();
  unsigned first = 0;
  unsigned last = 0;
  for (int round = 0; round < rounds; ++round) {
    last = mount_and_hold();
    if (round == 0) first = last;
    const std::string mount_point = test::here() + "/X ";
    std::thread releaser([&] {
      while (test::file_text("/proc/self/mountinfo").find(mount_point) != std::string::npos)
        std::this_thread::sleep_for(microseconds(100));
      std::this_thread::sleep_for(microseconds(round % 8 * 500));
      release();
    });
    const test::Ran ran = test::run_program({UNMOOR_PROGRAM, "umount", "-l", "--wait=20", "X"});
    const bool early = !released_;
    releaser.join();
    ASSERT_EQ(ran.code, 0) << "round " << round << ": " << ran.err;
    ASSERT_FALSE(early) << "round " << round;
  }
  const Remains after = remains();
  EXPECT_EQ(after.descriptors, before.descriptors);
  EXPECT_EQ(after.mounts, before.mounts);
  EXPECT_LT(last, first + static_cast<unsigned>(rounds) / 2);
}

}  // namespace
}  // namespace unmoor::gone
