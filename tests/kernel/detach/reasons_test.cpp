// SPDX-License-Identifier: MIT
// Each condition of the policy refuses by its own name: what is asserted is the reason, not only that it waited.
#include <functional>
#include <utility>

#include "kernel/detach/device_under_grace.h"
#include "support/cgroup.h"
#include "support/child.h"
#include "support/hung_fuse.h"
#include "support/without_calls.h"

namespace unmoor::test {
namespace {

using detach::Caller;
using detach::Defer;

class DetachReasons : public UnderGracePeriods {
 protected:
  static std::string reason(const char* path, Defer defer = Defer::kAuto, int flags = MNT_DETACH,
                            Caller caller = Caller::kProgram,
                            const kernel::SystemCalls& calls = kernel::SystemCalls::real()) {
    const auto outcome = detach::detach_one(calls, path, flags, {.defer = defer, .caller = caller});
    return outcome ? std::string(reason_name(outcome->reason)) : "errno " + std::to_string(outcome.error().code);
  }
  // The same in a child, which has prepared itself.
  static std::string reason_in_child(const std::function<bool()>& prepare, const char* path) {
    int answer[2];
    if (pipe2(answer, O_CLOEXEC) != 0) return "no pipe";
    const int code = in_child([&] {
      if (!prepare()) return 77;
      const std::string text = reason(path);
      return write(answer[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : 1;
    });
    close(answer[1]);
    char text[64] = {};
    static_cast<void>(!read(answer[0], text, sizeof text - 1));
    close(answer[0]);
    return code == 77 ? "not prepared" : text;
  }
};

TEST_P(DetachReasons, WhatWasAskedFor) {
  mount_tmpfs("m");
  EXPECT_EQ(reason("m", Defer::kAlways, 0), "not-lazy");
  mount_tmpfs("m");
  EXPECT_EQ(reason("m", Defer::kNever), "never");
  EXPECT_EQ(reason("m", Defer::kAlways), "errno " + std::to_string(EINVAL)) << "nothing is mounted there any more";
}

TEST_P(DetachReasons, AServerThatTheHiddenHelperMayNotAsk) {
  mkdir("m", 0755);
  const HungFuse server("m");
  if (!server.ready()) GTEST_SKIP() << "needs /dev/fuse";
  EXPECT_EQ(reason("m", Defer::kAlways, MNT_DETACH, Caller::kLibrary), "server");
}

TEST_P(DetachReasons, NoHelperCanBeHad) {
  const WithoutCalls refused({SYS_eventfd2}, EPERM);
  for (const Caller caller : {Caller::kProgram, Caller::kLibrary}) {
    mount_tmpfs("m");
    EXPECT_EQ(reason("m", Defer::kAlways, MNT_DETACH, caller, refused), "no-helper");
    EXPECT_EQ(device_at("m"), device_at("."));
  }
}

// "m/." is found by asking /proc where it is.
TEST_P(DetachReasons, ATargetThatCannotBeNamed) {
  const WithoutCalls no_links({SYS_readlinkat}, ENOENT);
  mount_tmpfs("m");
  EXPECT_EQ(reason("m/.", Defer::kAlways, MNT_DETACH, Caller::kProgram, no_links), "not-a-mount-point");
  EXPECT_EQ(device_at("m"), device_at("."));
}

INSTANTIATE_TEST_SUITE_P(GracePeriods, DetachReasons, testing::Values(0, 1),
                         [](const auto& normal) { return normal.param == 1 ? "Normal" : "Expedited"; });

class DetachReasonsWhereItPays : public DetachReasons {};

TEST_P(DetachReasonsWhereItPays, AFilesystemThatCounts) {
  mkdir("m", 0755);
  ASSERT_EQ(mount("t", "m", "ramfs", 0, nullptr), 0);
  EXPECT_EQ(reason("m"), "filesystem");
  ASSERT_EQ(mount("t", "m", "tmpfs", 0, "size=8m"), 0);
  const int big = open("m/big", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  ASSERT_EQ(posix_fallocate(big, 0, 5 << 20), 0);
  close(big);
  // Where a private namespace would be the reason of auto.
  EXPECT_EQ(reason("m", Defer::kElsewhere), "filesystem") << "more than 4 MiB of it";
}

TEST_P(DetachReasonsWhereItPays, APrivateNamespaceWithADevice) {
  if (!make_device()) GTEST_SKIP() << "needs a loop device and mkfs.ext4";
  const auto prepare = [&] {
    if (unshare(CLONE_NEWNS) != 0 || !mount_device("disk")) return false;
    mount_tmpfs("m");
    return true;
  };
  EXPECT_EQ(reason_in_child(prepare, "m"), "namespace");
}

TEST_P(DetachReasonsWhereItPays, ASlaveNamespaceWithADeviceOnTop) {
  if (!make_device()) GTEST_SKIP() << "needs a loop device and mkfs.ext4";
  mkdir("shared", 0755);
  ASSERT_EQ(mount("shared", "shared", nullptr, MS_BIND, nullptr), 0);
  ASSERT_EQ(mount("none", "shared", nullptr, MS_SHARED, nullptr), 0);
  mount_tmpfs("shared/m");
  Child slave([&](const std::function<void()>& ready) {
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0 ||
        umount2("shared/m", 0) != 0 || !mount_device("shared/m")) {
      return 1;
    }
    ready();
    pause();
    return 0;
  });
  ASSERT_TRUE(slave.ready());
  EXPECT_EQ(reason("shared/m", Defer::kElsewhere), "propagates") << "auto minds this private namespace first";
}

// Mounts a device on the target when the helper is about to start: everything has been decided for the tmpfs below it.
class CoversTheTarget : public kernel::SystemCalls {
 public:
  explicit CoversTheTarget(std::function<bool()> cover) : cover_(std::move(cover)) {}
  [[nodiscard]] long clone_sharing_memory(int (*run)(void*), void* stack_top, int flags, void* argument,
                                          int* pidfd) const noexcept override {
    if (!std::exchange(covered_, true) && !cover_()) return -EIO;
    return SystemCalls::clone_sharing_memory(run, stack_top, flags, argument, pidfd);
  }

 private:
  std::function<bool()> cover_;
  mutable bool covered_ = false;
};

TEST_P(DetachReasonsWhereItPays, AMountThatCameOnTopAfterTheDecision) {
  if (!make_device()) GTEST_SKIP() << "needs a loop device and mkfs.ext4";
  for (const Caller caller : {Caller::kProgram, Caller::kLibrary}) {
    mount_tmpfs("m");
    const dev_t below = device_at("m");
    const CoversTheTarget covering([&] { return mount_device("m"); });
    EXPECT_EQ(reason("m", Defer::kAlways, MNT_DETACH, caller, covering), "no-helper");
    EXPECT_TRUE(is_free()) << "it was detached without a wait";
    EXPECT_EQ(device_at("m"), below) << "the plain call takes what is on top, and nothing else";
    ASSERT_EQ(umount2("m", MNT_DETACH), 0);
  }
}

TEST_P(DetachReasonsWhereItPays, ACgroupThatIsNotTheParents) {
  const Cgroup group;
  if (!group.ready()) GTEST_SKIP() << "needs a cgroup hierarchy in which a group can be made";
  mount_tmpfs("m");
  EXPECT_EQ(reason_in_child([&] { return group.join(); }, "m"), "cgroup");
}

class NoMountTable : public kernel::SystemCalls {
 public:
  [[nodiscard]] long call(long number, long a, long b, long c, long d, long e, long f) const noexcept override {
    const bool table =
        number == SYS_openat && std::string_view(reinterpret_cast<const char*>(b)).ends_with("mountinfo");
    return table ? -ENOENT : SystemCalls::call(number, a, b, c, d, e, f);
  }
};

TEST_P(DetachReasonsWhereItPays, AMountTableThatCannotBeSeen) {
  mount_tmpfs("m");
  EXPECT_EQ(reason("m", Defer::kAuto, MNT_DETACH, Caller::kProgram, NoMountTable()), "not-seen");
  EXPECT_EQ(device_at("m"), device_at("."));
}

TEST_P(DetachReasonsWhereItPays, ProcessOneOfItsPidNamespace) {
  mount_tmpfs("m");
  std::string said;
  int answer[2];
  ASSERT_EQ(pipe2(answer, O_CLOEXEC), 0);
  const int code = in_child([&] {
    if (unshare(CLONE_NEWPID) != 0) return 77;
    return in_child([&] {
      said = reason("m");
      return write(answer[1], said.data(), said.size()) > 0 ? 0 : 1;
    });
  });
  close(answer[1]);
  char text[64] = {};
  static_cast<void>(!read(answer[0], text, sizeof text - 1));
  close(answer[0]);
  if (code == 77) GTEST_SKIP() << "needs pid namespaces";
  EXPECT_STREQ(text, "pid-1");
}

INSTANTIATE_TEST_SUITE_P(GracePeriods, DetachReasonsWhereItPays, testing::Values(1),
                         [](const auto&) { return "Normal"; });

class DetachReasonsExpedited : public DetachReasons {};

TEST_P(DetachReasonsExpedited, ThePlainCallIsFaster) {
  mount_tmpfs("m");
  EXPECT_EQ(reason("m"), "plain-is-faster");
}

INSTANTIATE_TEST_SUITE_P(GracePeriods, DetachReasonsExpedited, testing::Values(0),
                         [](const auto&) { return "Expedited"; });

}  // namespace
}  // namespace unmoor::test
