// SPDX-License-Identifier: MIT
// What `unmoor umount` says and returns when not everything goes: all or nothing, some and some, interrupted.
#include <csignal>
#include <fcntl.h>
#include <sched.h>

#include "kernel/umount/umount_tree.h"
#include "support/child.h"
#include "support/for_everybody.h"
#include "support/user_namespace.h"

namespace unmoor::test {
namespace {

class UmountOutcome : public UmountTree {
 protected:
  void SetUp() override {
    UmountTree::SetUp();
    if (IsSkipped()) return;
    for (const char* const name : {"a", "a/x", "b", "c"})
      mount_at(name);
  }
  void hold(const std::string& name) {
    held_ = open((path(name) + "/file").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    ASSERT_GE(held_, 0);
  }
  void TearDown() override {
    if (held_ >= 0) close(held_);
    UmountTree::TearDown();
  }

  int held_ = -1;
};

TEST_F(UmountOutcome, AllOrNothingBeginsNothingWhenOneIsInUse) {
  hold("a/x");
  for (const std::vector<std::string>& how : std::vector<std::vector<std::string>>{{"-R", top_}, {"-AR", top_}}) {
    std::vector<std::string> arguments = how;
    arguments.insert(arguments.begin(), "--all-or-nothing");
    const Ran ran = umount(arguments);
    EXPECT_EQ(ran.code, 32);
    EXPECT_EQ(left(), 5U);
    EXPECT_NE(ran.err.find("umount: " + path("a/x") + ": target is busy.\n"), std::string::npos) << ran.err;
    EXPECT_NE(ran.err.find("umount: 1 of 5 would stay: nothing was unmounted\n"), std::string::npos) << ran.err;
  }
}

TEST_F(UmountOutcome, AllOrNothingOfATypeBeginsNothingWhenOneIsInUse) {
  for (const char* const name : {"r1", "r2"}) {
    ASSERT_EQ(mkdir(path(name).c_str(), 0755), 0);
    ASSERT_EQ(mount("r", path(name).c_str(), "ramfs", 0, nullptr), 0);
  }
  hold("r1");
  const Ran ran = umount({"--all-or-nothing", "-a", "-t", "ramfs"});
  EXPECT_EQ(ran.code, 32);
  EXPECT_EQ(left(), 7U);
  EXPECT_NE(ran.err.find("nothing was unmounted"), std::string::npos) << ran.err;
}

TEST_F(UmountOutcome, AllOrNothingTakesAllAndSaysThatARaceRemains) {
  const Ran ran = umount({"--all-or-nothing", "-R", "-v", top_});
  EXPECT_EQ(ran.code, 0);
  EXPECT_NE(ran.err.find("what comes into use from now on may still stay"), std::string::npos) << ran.err;
  EXPECT_EQ(left(), 0U);
}

// What covers a mount of the tree goes before it does.
TEST_F(UmountOutcome, AllOrNothingIsNotKeptByWhatLiesOverItsOwnMounts) {
  mount_at("b");
  mount_at("a");
  const Ran ran = umount({"--all-or-nothing", "-R", top_});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(left(), 0U);
}

// In a user namespace the mounts that came with it are locked.
TEST_F(UmountOutcome, AllOrNothingBeginsNothingWhenOneIsLocked) {
  Child inside([this](const auto&) {
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return 77;
    if (mount("own", path("b").c_str(), "tmpfs", 0, nullptr) != 0) return 77;
    const Ran ran = umount({"--all-or-nothing", "-R", top_});
    if (left() != 6) return 1;
    return ran.code == 32 && ran.err.find("nothing was unmounted") != std::string::npos ? 0 : 2;
  });
  const int status = inside.wait();
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "needs user namespaces";
  EXPECT_EQ(status, 0);
}

TEST_F(UmountOutcome, AllOrNothingBeginsNothingWithoutPermission) {
  if (!initial_user_namespace()) GTEST_SKIP() << "needs root: to become somebody else";
  const std::string program = for_everybody(UNMOOR_PROGRAM);
  Child user([&](const auto&) {
    if (setresuid(65534, 65534, 65534) != 0) return 77;
    const Ran ran = run_program({program, "umount", "--all-or-nothing", "-R", top_});
    if (left() != 5) return 1;
    return ran.code == 32 && ran.err.find("nothing was unmounted") != std::string::npos ? 0 : 2;
  });
  const int status = user.wait();
  EXPECT_EQ(status, 0);
}

TEST_F(UmountOutcome, WhatStaysHasOneLineEachAndTheExitCodeIs64) {
  hold("a/x");
  const Ran ran = umount({"-R", top_});
  EXPECT_EQ(ran.code, 64);
  EXPECT_EQ(left(), 3U) << "the top, a and a/x";
  EXPECT_EQ(occurrences(ran.err, "umount: " + path("a/x") + ": target is busy.\n"), 1U) << ran.err;
  EXPECT_EQ(occurrences(ran.err, "umount: " + path("a") + ": target is busy: below it stays " + path("a/x") + ".\n"),
            1U)
      << ran.err;
  EXPECT_EQ(occurrences(ran.err, "umount: " + top_ + ": target is busy: below it stays " + path("a") + ".\n"), 1U)
      << ran.err;
  EXPECT_EQ(occurrences(ran.err, "umount: 2 of 5 unmounted, 3 stay\n"), 1U) << ran.err;
  EXPECT_EQ(ran.err.find(path("b")), std::string::npos) << ran.err;
}

TEST_F(UmountOutcome, WhenNothingGoesTheExitCodeIs32) {
  hold("a/x");
  EXPECT_EQ(umount({"-R", path("a")}).code, 32);
  EXPECT_EQ(left(), 5U);
}

TEST_F(UmountOutcome, InterruptedItSumsUp) {
  const int count = 2000;
  for (int i = 0; i < count; ++i)
    mount_at("n" + std::to_string(i));
  const std::size_t before = left();
  Child program([this](const auto& ready) {
    dup2(open((here_ + "/err").c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600), STDERR_FILENO);
    ready();
    std::vector<std::string> command = words({"-R", "--jobs=2", top_});
    exec_words(command);
    return 0;
  });
  while (left() == before)
    usleep(500);
  kill(program.pid(), SIGINT);
  const int status = program.wait();
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 8);
  const std::size_t stay = left();
  EXPECT_GT(stay, 0U) << "not interrupted in the middle";
  const std::string said = file_text(here_ + "/err");
  EXPECT_EQ(occurrences(said, ": not tried.\n"), stay);
  EXPECT_NE(said.find("umount: " + std::to_string(before - stay) + " of " + std::to_string(before) + " unmounted, " +
                      std::to_string(stay) + " stay\n"),
            std::string::npos)
      << said.substr(said.size() > 300 ? said.size() - 300 : 0);
}

TEST_F(UmountOutcome, WhatWaitsForOneFilesystemGoesWithSingleTargetsOnly) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"--wait", "-R", top_},
                                             {"--strict", "-A", top_},
                                             {"-a", "--wait=1", "-t", "ramfs"},
                                             {"-a", "--strict", "-t", "ramfs"}}) {
    const Ran ran = umount(arguments);
    EXPECT_EQ(ran.code, 1) << arguments[0] << " " << arguments[1];
    EXPECT_NE(ran.err.find("single targets only"), std::string::npos) << ran.err;
    EXPECT_EQ(left(), 5U);
  }
}

TEST_F(UmountOutcome, AllOrNothingIsNotSilentlyForgottenForSingleTargets) {
  const Ran ran = umount({"--all-or-nothing", path("b"), path("c")});
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.err.find("--all-or-nothing goes with"), std::string::npos) << ran.err;
  EXPECT_EQ(left(), 5U);
}

TEST_F(UmountOutcome, JobsAreOnlyASpeed) {
  for (const char* const jobs : {"--jobs=1", "--jobs=3", "--jobs=4096"}) {
    mount_at("d");
    mount_at("e");
    EXPECT_EQ(umount({jobs, "-R", path("d")}).code, 0);
    EXPECT_EQ(umount({jobs, "-A", path("e")}).code, 0);
    EXPECT_EQ(left(), 5U);
    mount_at("d");
    mount_at("e");
    EXPECT_EQ(umount({jobs, path("d"), path("e")}).code, 0);
    EXPECT_EQ(left(), 5U);
  }
}

}  // namespace
}  // namespace unmoor::test
