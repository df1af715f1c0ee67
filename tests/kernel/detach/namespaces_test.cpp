// SPDX-License-Identifier: MIT
// Filesystems that are held through another mount namespace: free at return, whoever detached the last copy.
#include <vector>

#include "kernel/detach/device_under_grace.h"
#include "support/child.h"

namespace unmoor::test {
namespace {

using detach::Caller;
using detach::Defer;

class DetachNamespaces : public UnderGracePeriods {
 protected:
  // Mounts a new mount namespace, in which the device is mounted, on `file`. The kernel refuses one that is not newer
  // than ours (EINVAL), and Linux 6.18 was seen to refuse new ones too, now and then. Its numbers seem to be a stock of
  // each CPU's, so on the CPU that numbered ours a new one is always newer: each CPU is tried.
  bool hold_device_by(const char* file) const {
    const long cpus = sysconf(_SC_NPROCESSORS_CONF);
    for (long cpu = 0; cpu < cpus; ++cpu) {
      Child child([&](const std::function<void()>& ready) {
        cpu_set_t only;
        CPU_ZERO(&only);
        CPU_SET(static_cast<std::size_t>(cpu), &only);
        if (sched_setaffinity(0, sizeof only, &only) != 0 || unshare(CLONE_NEWNS) != 0 || !mount_device("m")) return 1;
        ready();
        pause();
        return 0;
      });
      const std::string link = "/proc/" + std::to_string(child.pid()) + "/ns/mnt";
      if (child.ready() && mount(link.c_str(), file, nullptr, MS_BIND, nullptr) == 0) return true;
    }
    return false;
  }
};

TEST_P(DetachNamespaces, TheDeviceInANamespaceThatOnlyTheTargetHeldIsFree) {
  if (!make_device()) GTEST_SKIP() << "needs a loop device and mkfs.ext4";
  close(open("ns", O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  for (int round = 0; round < detach_rounds(); ++round) {
    ASSERT_TRUE(hold_device_by("ns")) << "round " << round << " errno " << errno;
    ASSERT_FALSE(is_free()) << "the bind mount keeps the namespace";
    ASSERT_TRUE(let_go("ns", Defer::kAuto, round % 2 == 0 ? Caller::kProgram : Caller::kLibrary));
    EXPECT_TRUE(is_free()) << "round " << round;
  }
}

TEST_P(DetachNamespaces, ThreeCopiesInTwoNamespacesDetachedAtOnce) {
  if (!make_device()) GTEST_SKIP() << "needs a loop device and mkfs.ext4";
  for (const Defer defer : {Defer::kAuto, Defer::kElsewhere}) {
    for (int round = 0; round < detach_rounds(); ++round) {
      ASSERT_TRUE(mount_device("a"));
      mkdir("b", 0755);
      ASSERT_EQ(mount("a", "b", nullptr, MS_BIND, nullptr), 0);
      int start[2];
      int done[2];
      int end[2];
      ASSERT_TRUE(pipe2(start, O_CLOEXEC) == 0 && pipe2(done, O_CLOEXEC) == 0 && pipe2(end, O_CLOEXEC) == 0);
      std::vector<pid_t> children;
      for (const char* const copy : {"a", "b", "a of its own"}) {
        const bool own = std::string(copy).size() > 1;
        const pid_t child = fork();
        if (child == 0) {
          close(start[1]);
          close(end[1]);
          char byte = own && (unshare(CLONE_NEWNS) != 0 || umount2("b", 0) != 0) ? 'n' : 'r';
          static_cast<void>(!write(done[1], &byte, 1));
          static_cast<void>(!read(start[0], &byte, 1));
          byte = let_go(own ? "a" : copy, defer, Caller::kLibrary) ? 'y' : 'n';
          static_cast<void>(!write(done[1], &byte, 1));
          static_cast<void>(!read(end[0], &byte, 1));
          _exit(0);
        }
        children.push_back(child);
      }
      std::string answers;
      char byte = 0;
      while (answers.size() < 3 && read(done[0], &byte, 1) == 1)
        answers += byte;
      close(start[1]);
      while (answers.size() < 6 && read(done[0], &byte, 1) == 1)
        answers += byte;
      const bool free_at_return = is_free();  // all callers, and the second namespace, are still there
      close(end[1]);
      for (const pid_t child : children)
        waitpid(child, nullptr, 0);
      for (const int fd : {start[0], done[0], done[1], end[0]})
        close(fd);
      ASSERT_EQ(answers, "rrryyy");
      EXPECT_TRUE(free_at_return) << "round " << round << " policy " << static_cast<int>(defer);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(GracePeriods, DetachNamespaces, testing::Values(0, 1),
                         [](const auto& normal) { return normal.param == 1 ? "Normal" : "Expedited"; });

}  // namespace
}  // namespace unmoor::test
