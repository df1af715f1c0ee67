// SPDX-License-Identifier: MIT
// Whatever fails on the way: the tree of mounts and the answer agree, and nothing hangs.
#include <csignal>
#include <sys/resource.h>
#include <thread>
#include <vector>

#include "kernel/detach/scratch.h"
#include "support/failing_calls.h"
#include "support/sanitizer.h"
#include "support/without_calls.h"

namespace unmoor::test {
namespace {

using detach::Caller;
using detach::Defer;

class DetachFaults : public DetachTest {
 protected:
  // Detaches a fresh mount and says whether answer and tree agree.
  static void answer_and_tree_agree(const kernel::SystemCalls& calls, Defer defer, Caller caller,
                                    const std::string& what) {
    umount2("m", MNT_DETACH);
    mount_tmpfs("m");
    const auto outcome = detach::detach_one(calls, "m", MNT_DETACH, {.defer = defer, .caller = caller});
    const bool gone = device_at("m") == device_at(".");
    EXPECT_EQ(outcome.has_value(), gone) << what;
    detach::reap_helpers();
    EXPECT_EQ(device_at("m") == device_at("."), gone) << what << ": something was still on its way";
  }
};

TEST_F(DetachFaults, EveryCallFailsOnce) {
  for (const Caller caller : {Caller::kLibrary, Caller::kProgram}) {
    for (const Defer defer : {Defer::kAuto, Defer::kElsewhere, Defer::kAlways}) {
      for (const int code : {EPERM, ENOSYS, ENOMEM, EINTR}) {
        for (int n = 1;; ++n) {
          const FailingCalls calls(n, code);
          answer_and_tree_agree(calls, defer, caller,
                                "call " + std::to_string(n) + " fails with " + std::to_string(code));
          if (calls.made() < n) break;
          ASSERT_LT(n, 400);
        }
      }
    }
  }
}

TEST_F(DetachFaults, OlderKernels) {
  constexpr long statmount = 457;
  constexpr long listmount = 458;
  for (const Caller caller : {Caller::kLibrary, Caller::kProgram}) {
    const WithoutCalls no_statmount({statmount, listmount}, ENOSYS);
    const WithoutCalls no_memfd({SYS_memfd_create}, EPERM);
    const WithoutCalls no_events({SYS_ppoll}, ENOSYS);
    for (const kernel::SystemCalls* calls :
         {static_cast<const kernel::SystemCalls*>(&no_statmount), static_cast<const kernel::SystemCalls*>(&no_memfd),
          static_cast<const kernel::SystemCalls*>(&no_events)}) {
      answer_and_tree_agree(*calls, Defer::kAlways, caller, "an older kernel");
    }
    umount2("m", MNT_DETACH);
    mount_tmpfs("m");
    const auto outcome =
        detach::detach_one(no_statmount, "m", MNT_DETACH, {.defer = Defer::kAlways, .caller = Caller::kProgram});
    ASSERT_TRUE(outcome);
    EXPECT_TRUE(outcome->reason == detach::DeferReason::kDeferred ||
                outcome->reason == detach::DeferReason::kFinishedFirst ||
                outcome->reason == detach::DeferReason::kNoHelper);
  }
}

TEST_F(DetachFaults, NoDescriptorsNoProcessesNoDeadlineHelpers) {
  mount_tmpfs("m");
  const int no_descriptors = in_child([] {
    const rlimit limit{3, 3};
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return 77;
    return detach_always("m") ? 0 : 1;
  });
  EXPECT_TRUE(no_descriptors == 0 || kSanitized);  // a sanitizer reads memory through a pipe
  mount_tmpfs("m");
  const int deadline = in_child([] {
    struct {
      unsigned size, policy;
      unsigned long flags;
      int nice;
      unsigned priority;
      unsigned long runtime, deadline, period;
    } attributes{48, 6, 0, 0, 0, 5000000, 20000000, 20000000};
    if (syscall(SYS_sched_setattr, 0, &attributes, 0) != 0) return 77;
    return detach_always("m") ? 0 : 1;
  });
  EXPECT_TRUE(deadline == 0 || deadline == 77) << deadline;
}

// A helper started after unshare(CLONE_NEWPID) would be process 1 of the new namespace, and its end the namespace's.
TEST_F(DetachFaults, APidNamespaceThatWaitsForItsFirstChildStaysUsable) {
  mount_tmpfs("m");
  const int code = in_child([] {
    if (unshare(CLONE_NEWPID) != 0) return 77;
    if (!detach_always("m")) return 1;
    detach::reap_helpers();
    const pid_t first = fork();
    if (first == 0) _exit(getpid() == 1 ? 0 : 9);
    int status = 0;
    return first > 0 && waitpid(first, &status, 0) == first && status == 0 ? 0 : 2;
  });
  if (code == 77) GTEST_SKIP() << "needs pid namespaces: refused";
  EXPECT_EQ(code, 0);
}

TEST_F(DetachFaults, SigchldIgnored) {
  mount_tmpfs("m");
  const int code = in_child([] {
    signal(SIGCHLD, SIG_IGN);
    return detach_always("m") && detach_always("m", MNT_DETACH, Caller::kProgram).error().code == EINVAL ? 0 : 1;
  });
  EXPECT_EQ(code, 0);
}

// The other file is a program that leaves a trace: touch(1), which would make files named as the helper's arguments
// are.
TEST_F(DetachFaults, ADescriptorThatAnotherFileHasTakenIsNotExecuted) {
  if (access("/usr/bin/touch", X_OK) != 0) GTEST_SKIP() << "needs /usr/bin/touch";
  mount_tmpfs("m");
  ASSERT_TRUE(detach_always("m"));  // the program file exists now
  const int code = in_child([] {
    closefrom(3);
    for (int i = 0; i < 64; ++i)
      static_cast<void>(open("/usr/bin/touch", O_RDONLY | O_CLOEXEC));
    for (int round = 0; round < 30; ++round) {
      mount_tmpfs("m");
      if (!detach_always("m") || device_at("m") != device_at(".")) return 1;
    }
    return 0;
  });
  EXPECT_EQ(code, 0);
  for (int number = 0; number < 1024; ++number)
    EXPECT_NE(access(std::to_string(number).c_str(), F_OK), 0) << "it was executed with argument " << number;
}

TEST_F(DetachFaults, EverythingAfterwardsWorksAsWithoutUs) {
  for (const int kind : {CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWIPC, CLONE_NEWUTS,
                         CLONE_NEWCGROUP, 0x80 /* CLONE_NEWTIME */}) {
    const int without = in_child([&] { return unshare(kind) == 0 ? 0 : errno; });
    mount_tmpfs("m");
    const int with = in_child([&] {
      if (!detach_always("m")) return 199;
      return unshare(kind) == 0 ? 0 : errno;
    });
    EXPECT_EQ(with, without) << "unshare " << kind;
  }
  for (const char* name : {"user", "mnt", "pid", "net", "ipc", "uts", "cgroup", "time"}) {
    const std::string link = std::string("/proc/self/ns/") + name;
    const auto enter = [&] {
      const int fd = open(link.c_str(), O_RDONLY | O_CLOEXEC);
      return fd < 0 || syscall(SYS_setns, fd, 0) == 0 ? 0 : errno;
    };
    const int without = in_child(enter);
    mount_tmpfs("m");
    const int with = in_child([&] { return detach_always("m") ? enter() : 199; });
    EXPECT_EQ(with, without) << "setns " << name;
  }
}

TEST_F(DetachFaults, ManyThreadsAtOnce) {
  constexpr int kThreads = 64;
  const int rounds = std::getenv("UNMOOR_LONG") != nullptr ? 200 : 10;
  for (int i = 0; i < kThreads; ++i)
    ASSERT_EQ(mkdir(std::to_string(i).c_str(), 0755), 0);
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      const std::string path = std::to_string(i);
      for (int round = 0; round < rounds; ++round) {
        if (mount("t", path.c_str(), "tmpfs", 0, "size=4k") != 0 || !detach_always(path.c_str()) ||
            device_at(path.c_str()) != device_at(".")) {
          ++failures;
        }
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(failures, 0);
  detach::reap_helpers();
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG | __WALL), -1);
}

}  // namespace
}  // namespace unmoor::test
