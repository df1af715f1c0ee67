// SPDX-License-Identifier: MIT
// What was in use until the detach is used again right after it: an overlay's directories, a cgroup, a program's file.
#include <fstream>

#include "kernel/detach/device_under_grace.h"

namespace unmoor::test {
namespace {

using detach::Caller;
using detach::Defer;

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

TEST_P(DetachReuse, TheCallersCgroupCanBeRemovedAfterItsExit) {
  std::string group;
  for (const char* parent : {"/sys/fs/cgroup/unified", "/sys/fs/cgroup/pids", "/sys/fs/cgroup"}) {
    group = std::string(parent) + "/unmoor-detach-" + std::to_string(getpid());
    if (access((std::string(parent) + "/cgroup.procs").c_str(), W_OK) == 0 && mkdir(group.c_str(), 0755) == 0) break;
    group.clear();
  }
  if (group.empty()) GTEST_SKIP() << "needs a cgroup hierarchy in which a group can be made";
  for (const Caller caller : {Caller::kProgram, Caller::kLibrary}) {
    for (int round = 0; round < detach_rounds(); ++round) {
      mkdir(group.c_str(), 0755);
      mount_tmpfs("m");
      const int code = in_child([&] {
        std::ofstream procs(group + "/cgroup.procs");
        procs << getpid() << std::flush;
        return procs.good() && let_go("m", Defer::kAuto, caller) ? 0 : 1;
      });
      EXPECT_EQ(code, 0);
      EXPECT_EQ(rmdir(group.c_str()), 0) << "round " << round << " errno " << errno;
    }
  }
  for (int i = 0; i < 100 && rmdir(group.c_str()) != 0 && errno == EBUSY; ++i)
    usleep(10000);
}

INSTANTIATE_TEST_SUITE_P(GracePeriods, DetachReuse, testing::Values(0, 1),
                         [](const auto& normal) { return normal.param == 1 ? "Normal" : "Expedited"; });

}  // namespace
}  // namespace unmoor::test
