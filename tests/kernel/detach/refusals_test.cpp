// SPDX-License-Identifier: MIT
// A kernel that refuses a step, for real: a seccomp filter, a limit on processes, a helper that is killed. Each time
// the answer is the plain call's and the tree agrees with it.
#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <thread>

#include "kernel/detach/scratch.h"
#include "support/sanitizer.h"

namespace unmoor::test {
namespace {

using detach::Caller;

// From here on `number` answers EPERM, in this process and in everything it starts.
bool refuse_call(unsigned number) {
  std::array filter{
      sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}

class DetachRefusals : public DetachTest {};

TEST_F(DetachRefusals, ASeccompFilterThatKnowsNoHelper) {
  for (const long number :
       {static_cast<long>(SYS_memfd_create), static_cast<long>(SYS_execveat), static_cast<long>(SYS_pidfd_open),
        static_cast<long>(SYS_setns), static_cast<long>(SYS_eventfd2), static_cast<long>(SYS_statx), 457L, 458L}) {
    for (const Caller caller : {Caller::kLibrary, Caller::kProgram}) {
      mount_tmpfs("m");
      const int code = in_child([&] {
        if (!refuse_call(static_cast<unsigned>(number))) return 77;
        return detach_always("m", MNT_DETACH, caller) ? 0 : 1;
      });
      if (code == 77) GTEST_SKIP() << "needs seccomp: refused";
      EXPECT_EQ(code, 0) << "system call " << number << " refused";
      EXPECT_EQ(device_at("m"), device_at(".")) << "system call " << number << " refused";
    }
  }
}

// What the filter forbids the caller, no helper does for it.
TEST_F(DetachRefusals, AFilterOnUmount2IsObeyed) {
  for (const Caller caller : {Caller::kLibrary, Caller::kProgram}) {
    mount_tmpfs("m");
    const int code = in_child([&] {
      if (!refuse_call(SYS_umount2)) return 77;
      return error_of(detach_always("m", MNT_DETACH, caller));
    });
    if (code == 77) GTEST_SKIP() << "needs seccomp: refused";
    EXPECT_EQ(code, EPERM);
    EXPECT_NE(device_at("m"), device_at("."));
    ASSERT_EQ(umount2("m", 0), 0);
  }
}

TEST_F(DetachRefusals, NoMoreProcesses) {
  for (const Caller caller : {Caller::kLibrary, Caller::kProgram}) {
    mount_tmpfs("m");
    const int code = in_child([&] {
      // The limit binds only an identity without CAP_SYS_RESOURCE and CAP_SYS_ADMIN in the first user namespace, so the
      // user and the mounts are those of a namespace of our own.
      if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return 77;
      const rlimit none{0, 0};
      if (setrlimit(RLIMIT_NPROC, &none) != 0) return 78;
      if (mount("t", "m", "tmpfs", 0, nullptr) != 0) return 79;
      const dev_t before = device_at("m");
      if (!detach_always("m", MNT_DETACH, caller)) return 1;
      return device_at("m") != before ? 0 : 2;
    });
    if (code >= 77 && code <= 79) GTEST_SKIP() << "needs a user namespace that may mount: refused at step " << code;
    EXPECT_EQ(code, 0);
    ASSERT_EQ(umount2("m", 0), 0);
  }
}

// Somebody who kills every child of the caller that he sees, as fast as he can.
TEST_F(DetachRefusals, HelpersKilledAtAnyPoint) {
  UNMOOR_NEEDS_NO_SANITIZER("its state is shared with the helpers");
  const int rounds = std::getenv("UNMOOR_LONG") != nullptr ? 2000 : 200;
  for (const Caller caller : {Caller::kLibrary, Caller::kProgram}) {
    std::atomic<bool> done{false};
    std::thread killer([&] {
      const std::string path = "/proc/self/task/" + std::to_string(getpid()) + "/children";
      while (!done) {
        const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
        std::array<char, 256> text{};
        const ssize_t size = fd < 0 ? 0 : read(fd, text.data(), text.size() - 1);
        if (fd >= 0) close(fd);
        // Only children of this test: each number in the list is one.
        for (const char* at = text.data(); size > 0 && *at != '\0';) {
          char* end = nullptr;
          const long pid = std::strtol(at, &end, 10);
          if (end == at) break;
          if (pid > 1) kill(static_cast<pid_t>(pid), SIGKILL);
          at = *end == ' ' ? end + 1 : end;
        }
      }
    });
    for (int round = 0; round < rounds; ++round) {
      mount_tmpfs("m");
      const auto outcome = detach_always("m", MNT_DETACH, caller);
      ASSERT_TRUE(outcome) << round;
      ASSERT_EQ(device_at("m"), device_at(".")) << "said to be detached, round " << round;
    }
    done = true;
    killer.join();
    detach::reap_helpers();
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG | __WALL), -1);
  }
}

}  // namespace
}  // namespace unmoor::test
