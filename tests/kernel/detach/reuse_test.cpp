// SPDX-License-Identifier: MIT
// What was in use until the detach is used again right after it: an overlay's directories, a cgroup, a program's file.
#include <cstdlib>
#include <fstream>

#include "kernel/detach/device_under_grace.h"
#include "support/cgroup.h"
#include "support/program.h"

namespace unmoor::test {
namespace {

using detach::Caller;
using detach::Defer;

// This program run with it does nothing but one detach: a caller of the library that has a binary of its own.
constexpr const char* kDetachAndExit = "UNMOOR_TEST_DETACH_AND_EXIT";
__attribute__((constructor)) void detach_and_exit() {
  const char* const target = std::getenv(kDetachAndExit);
  if (target != nullptr) _exit(detach_always(target) ? 0 : 1);
}

class DetachReuse : public UnderGracePeriods {};

TEST_P(DetachReuse, AnOverlayWithTheSameUpperMountsAgain) {
  for (const char* path : {"lower", "upper", "work", "m"})
    ASSERT_EQ(mkdir(path, 0755), 0);
  // index=on: upper and work in use by another overlay are EBUSY, not a warning.
  const char* const options = "lowerdir=lower,upperdir=upper,workdir=work,index=on";
  for (int round = 0; round < detach_rounds(); ++round) {
    if (mount("o", "m", "overlay", 0, options) != 0) {
      if (round == 0) GTEST_SKIP() << "needs overlay on tmpfs with an index";
      FAIL() << "round " << round << " errno " << errno;
    }
    ASSERT_TRUE(let_go("m", Defer::kAuto, round % 2 == 0 ? Caller::kProgram : Caller::kLibrary));
  }
}

// In a private namespace like the tests' own it is `elsewhere` that would return early, but for the group.
TEST_P(DetachReuse, TheCallersCgroupCanBeRemovedAfterItsExit) {
  const Cgroup group;
  if (!group.ready()) GTEST_SKIP() << "needs a cgroup hierarchy in which a group can be made";
  for (const Defer defer : {Defer::kAuto, Defer::kElsewhere}) {
    for (const Caller caller : {Caller::kProgram, Caller::kLibrary}) {
      for (int round = 0; round < detach_rounds(); ++round) {
        ASSERT_TRUE(group.make());
        mount_tmpfs("m");
        const int code = in_child([&] { return group.join() && let_go("m", defer, caller) ? 0 : 1; });
        EXPECT_EQ(code, 0);
        EXPECT_TRUE(group.remove()) << "round " << round << " errno " << errno;
      }
    }
  }
}

// The program alone is in the group, its parent is not: whoever put it there may be waiting to remove the group.
TEST_P(DetachReuse, TheProgramsCgroupCanBeRemovedAfterItsExit) {
  const Cgroup group;
  if (!group.ready()) GTEST_SKIP() << "needs a cgroup hierarchy in which a group can be made";
  for (const char* const defer : {"--defer=auto", "--defer=elsewhere"}) {
    for (int round = 0; round < detach_rounds(); ++round) {
      ASSERT_TRUE(group.make());
      mount_tmpfs("m");
      const int code = in_child([&] {
        if (!group.join()) return 77;
        execl(UNMOOR_PROGRAM, "unmoor", "umount", "-l", defer, "m", nullptr);
        return 99;
      });
      EXPECT_EQ(code, 0);
      EXPECT_TRUE(group.remove()) << "round " << round << " errno " << errno;
      EXPECT_EQ(device_at("m"), device_at("."));
    }
  }
}

// The library shares the caller's memory, and so its program file, with the process in between until it returns.
TEST_P(DetachReuse, TheBinaryOfALibrarysCallerCanBeWrittenAfterItsExit) {
  std::ofstream("copy", std::ios::binary) << file_text("/proc/self/exe");
  ASSERT_EQ(chmod("copy", 0700), 0);
  for (int round = 0; round < detach_rounds(); ++round) {
    mount_tmpfs("m");
    const int code = in_child([] {
      setenv(kDetachAndExit, "m", 1);
      execl("./copy", "copy", nullptr);
      return 99;
    });
    ASSERT_EQ(code, 0);
    const int fd = open("copy", O_WRONLY | O_CLOEXEC);
    EXPECT_GE(fd, 0) << "round " << round << " errno " << errno;
    if (fd >= 0) close(fd);
  }
}

INSTANTIATE_TEST_SUITE_P(GracePeriods, DetachReuse, testing::Values(0, 1),
                         [](const auto& normal) { return normal.param == 1 ? "Normal" : "Expedited"; });

}  // namespace
}  // namespace unmoor::test
