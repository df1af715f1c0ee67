// SPDX-License-Identifier: MIT
// Filesystems that are held through another mount namespace: free at return, whoever detached the last copy.
#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <vector>

#include "kernel/detach/device_under_grace.h"
#include "kernel/statmount.h"
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

// One of several processes that make a call at the same time.
struct AtOnce {
  std::function<bool()> get_ready;
  std::function<char()> call;
};

// What the calls answered, in the order of their returns; '!' for a process that could not get ready. `look` is called
// when all have returned, and all of them are still there.
std::string all_at_once(const std::vector<AtOnce>& all, const std::function<void()>& look) {
  int start[2];
  int done[2];
  int end[2];
  if (pipe2(start, O_CLOEXEC) != 0 || pipe2(done, O_CLOEXEC) != 0 || pipe2(end, O_CLOEXEC) != 0) return "no pipes";
  std::vector<pid_t> children;
  for (const AtOnce& one : all) {
    const pid_t child = fork();
    if (child == 0) {
      close(start[1]);
      close(end[1]);
      char byte = one.get_ready() ? 'r' : '!';
      static_cast<void>(!write(done[1], &byte, 1));
      static_cast<void>(!read(start[0], &byte, 1));
      byte = one.call();
      static_cast<void>(!write(done[1], &byte, 1));
      static_cast<void>(!read(end[0], &byte, 1));
      _exit(0);
    }
    children.push_back(child);
  }
  std::string answers;
  char byte = 0;
  while (answers.size() < all.size() && read(done[0], &byte, 1) == 1)
    answers += byte;
  close(start[1]);
  while (answers.size() < 2 * all.size() && read(done[0], &byte, 1) == 1)
    answers += byte;
  look();
  close(end[1]);
  for (const pid_t child : children)
    waitpid(child, nullptr, 0);
  for (const int fd : {start[0], done[0], done[1], end[0]})
    close(fd);
  return answers.contains('!') ? "!" : answers.substr(all.size());
}

TEST_P(DetachNamespaces, ThreeCopiesInTwoNamespacesDetachedAtOnce) {
  if (!make_device()) GTEST_SKIP() << "needs a loop device and mkfs.ext4";
  const auto here = [] { return true; };
  const auto in_its_own = [] { return unshare(CLONE_NEWNS) == 0 && umount2("b", 0) == 0; };
  for (const Defer defer : {Defer::kAuto, Defer::kElsewhere}) {
    for (int round = 0; round < detach_rounds(); ++round) {
      const Caller caller = round % 2 == 0 ? Caller::kProgram : Caller::kLibrary;
      const auto detach = [=](const char* path) { return let_go(path, defer, caller) ? 'y' : 'n'; };
      ASSERT_TRUE(mount_device("a"));
      mkdir("b", 0755);
      ASSERT_EQ(mount("a", "b", nullptr, MS_BIND, nullptr), 0);
      bool free_at_return = false;
      ASSERT_EQ(all_at_once({{here, [&] { return detach("a"); }},
                             {here, [&] { return detach("b"); }},
                             {in_its_own, [&] { return detach("a"); }}},
                            [&] { free_at_return = is_free(); }),
                "yyy");
      EXPECT_TRUE(free_at_return) << "round " << round << " policy " << static_cast<int>(defer);
    }
  }
}

// What `work` returned as process 1 of a pid namespace, with its /proc and a mount namespace; 77: refused.
int as_process_one(const std::function<int()>& work) {
  return in_child([&] {
    if (unshare(CLONE_NEWPID | CLONE_NEWNS) != 0) return 77;
    const pid_t first = fork();
    if (first == 0) _exit(mount("proc", "/proc", "proc", 0, nullptr) != 0 ? 77 : work());
    int status = 0;
    return waitpid(first, &status, 0) == first && WIFEXITED(status) ? WEXITSTATUS(status) : 5;
  });
}

// Process 1's table lists the mount that goes, too, when its namespace is the caller's.
TEST_P(DetachNamespaces, TheMountThatGoesIsNotTheOneThatStaysWithProcessOne) {
  if (!make_device()) GTEST_SKIP() << "needs a loop device and mkfs.ext4";
  const auto detach = [] {
    const auto outcome = detach::detach_one(kernel::SystemCalls::real(), "a", MNT_DETACH,
                                            {.defer = Defer::kElsewhere, .caller = Caller::kProgram});
    return outcome ? static_cast<int>(outcome->reason) : 100;
  };
  const int reason = as_process_one([&] { return mount_device("a") ? in_child(detach) : 101; });
  if (reason == 77) GTEST_SKIP() << "needs pid namespaces: refused";
  EXPECT_EQ(reason, static_cast<int>(GetParam() == 1 ? detach::DeferReason::kFilesystemCounts
                                                     : detach::DeferReason::kPlainIsFaster));
  EXPECT_TRUE(is_free());
}

// `elsewhere` may return early because process 1 has a copy; that one is detached at the same time. Process 1 is that
// of a pid namespace. The answer is the exit code of the rounds there: 0, 1 busy, 2 no call was deferred (or one that
// must not be), 77 refused.
TEST_P(DetachNamespaces, ACopyBesideThatOfProcessOneDetachedAtOnce) {
  if (!make_device()) GTEST_SKIP() << "needs a loop device and mkfs.ext4";
  const auto detach = [] {
    const auto outcome = detach::detach_one(kernel::SystemCalls::real(), "a", MNT_DETACH,
                                            {.defer = Defer::kElsewhere, .caller = Caller::kProgram});
    return !outcome ? 'n' : outcome->deferred ? 'd' : 'p';
  };
  const auto process_one = [&] {
    // Without listmount(2) nothing is deferred in a private namespace: docs/detach.md.
    std::array<kernel::UniqueMountId, 1> first{};
    const bool may_defer = kernel::list_mounts(kernel::SystemCalls::real(), kernel::kListRoot, 0, first).has_value();
    std::size_t deferred = 0;
    for (int round = 0; round < 5 * detach_rounds(); ++round) {
      if (!mount_device("a")) return 3;
      bool free_at_return = false;
      // Process 1's copy goes before, during and after the other's detach, on slow machines and fast ones.
      const auto detach_later = [&] {
        usleep(1000U * ((1U << (round % 7)) - 1));
        return detach();
      };
      const std::string answers =
          all_at_once({{[] { return true; }, detach_later}, {[] { return unshare(CLONE_NEWNS) == 0; }, detach}},
                      [&] { free_at_return = is_free(); });
      if (answers.size() != 2 || answers.contains('n')) return 4;
      if (!free_at_return) return 1;
      deferred += static_cast<std::size_t>(std::ranges::count(answers, 'd'));
    }
    return GetParam() == 0 || (deferred > 0) == may_defer ? 0 : 2;
  };
  const int code = as_process_one(process_one);
  if (code == 77) GTEST_SKIP() << "needs pid namespaces: refused";
  EXPECT_EQ(code, 0);
}

INSTANTIATE_TEST_SUITE_P(GracePeriods, DetachNamespaces, testing::Values(0, 1),
                         [](const auto& normal) { return normal.param == 1 ? "Normal" : "Expedited"; });

}  // namespace
}  // namespace unmoor::test
