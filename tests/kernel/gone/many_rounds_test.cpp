// SPDX-License-Identifier: MIT
// {mount, hold, umount -l --wait, release}, again and again, by the library and by the program: no wait ends early,
// none never, and nothing is left behind.
#include <atomic>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <set>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "gone/wait_gone.h"
#include "support/here.h"
#include "support/long_count.h"
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
    before_ = remains();
  }
  void TearDown() override { umount2("X", MNT_DETACH); }

  // Mounts, and opens what keeps the filesystem.
  void mount_and_hold() {
    EXPECT_EQ(mount("x", "X", "tmpfs", 0, nullptr), 0);
    held_ = open("X", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct ::stat facts{};
    EXPECT_EQ(fstat(held_, &facts), 0);
    released_ = false;
    numbers_.push_back(minor(facts.st_dev));
  }
  void release() {
    released_ = true;
    close(held_);
  }

  // Superblocks that stay would each keep a number of their own: the lowest that nobody has would grow by one a round.
  void expect_nothing_left() const {
    const Remains after = remains();
    EXPECT_EQ(after.descriptors, before_.descriptors);
    EXPECT_EQ(after.threads, before_.threads);
    EXPECT_EQ(after.mounts, before_.mounts);
    EXPECT_LT(numbers_.back(), numbers_.front() + static_cast<unsigned>(numbers_.size()) / 2);
  }

  Remains before_;
  std::vector<unsigned> numbers_;  // of the filesystems, one a round
  int held_ = -1;
  std::atomic<bool> released_ = false;
};

TEST_F(ManyRounds, OfTheLibrary) {
  const int rounds = test::long_count(10000, 10);
  for (int round = 0; round < rounds; ++round) {
    mount_and_hold();
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
  expect_nothing_left();
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG | __WALL), -1);
  EXPECT_EQ(errno, ECHILD) << "a child of a wait";
}

TEST_F(ManyRounds, OfTheProgram) {
  const int rounds = test::long_count(1000, 10);
  for (int round = 0; round < rounds; ++round) {
    mount_and_hold();
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
  expect_nothing_left();
}

}  // namespace
}  // namespace unmoor::gone
