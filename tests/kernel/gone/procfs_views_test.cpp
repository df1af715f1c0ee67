// SPDX-License-Identifier: MIT
// Other views of /proc: a container's, one that hides processes, and process numbers that are used again.
#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <linux/sched.h>
#include <memory>
#include <sched.h>
#include <string>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gone/inquiry.h"
#include "support/tmpfs_at_x.h"

namespace unmoor::gone {
namespace {

Result<Inquiry> ask(const kernel::SystemCalls& calls, const std::string& name) {
  Result<Census> census = Census::take(calls);
  if (!census) return std::unexpected(census.error());
  auto shared = std::make_shared<Census>(std::move(*census));
  Result<Target> target = resolve_target(*shared, name, AskFor::kWhatItNames);
  if (!target) return std::unexpected(target.error());
  return inquire(shared, {std::move(*target)});
}

bool says(const Inquiry& inquiry, std::string_view words) {
  return std::ranges::any_of(inquiry.notes,
                             [&](const std::string& note) { return note.find(words) != std::string::npos; });
}

class ProcfsView : public test::TmpfsAtX {
 protected:
  // `body` in a child; its return value, 77 and above: skipped.
  template <typename Body>
  static int in_child(Body body) {
    const pid_t child = fork();
    if (child == 0) _exit(body());
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  static bool mount_own_proc(const char* options) {
    return unshare(CLONE_NEWNS) == 0 && mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           mount("proc", "/proc", "proc", 0, options) == 0;
  }
};

// Process 1 of a container, with the container's /proc: it sees its own processes, and says that there may be others.
TEST_F(ProcfsView, AContainersProc) {
  const kernel::UniqueFd outside(open("X", O_PATH | O_DIRECTORY | O_CLOEXEC));
  const int result = in_child([] {
    if (unshare(CLONE_NEWPID) != 0) return 77;
    return in_child([] {
      if (!mount_own_proc(nullptr)) return 77;
      if (getpid() != 1) return 1;
      const int held = open("X", O_RDONLY | O_DIRECTORY);
      const Result<Inquiry> inquiry = ask(kernel::SystemCalls::real(), "X");
      if (!inquiry) return 2;
      bool found = false;
      for (const Holder& holder : inquiry->answers[0].holders) {
        if (holder.pid > 2) return 3;
        found = found || (holder.pid == 1 && holder.descriptor == held && holder.kind == HolderKind::kDescriptor);
      }
      if (!found) return 4;
      return says(*inquiry, "outside this pid namespace") ? 0 : 5;
    });
  });
  if (result == 77) GTEST_SKIP() << "needs pid namespaces and a mount of /proc";
  EXPECT_EQ(result, 0);
}

// The holder lives in a pid namespace of its own; we look from outside, and name it by our numbers.
TEST_F(ProcfsView, AHolderInsideAContainerHasOurNumber) {
  int ready[2];
  ASSERT_EQ(pipe2(ready, O_CLOEXEC), 0);
  const pid_t outer = fork();
  if (outer == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (unshare(CLONE_NEWPID) != 0) _exit(77);
    const pid_t inner = fork();
    if (inner == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (chdir("X") != 0) _exit(1);
      (void)!write(ready[1], "y", 1);
      for (;;)
        pause();
    }
    close(ready[1]);
    waitpid(inner, nullptr, 0);
    _exit(0);
  }
  close(ready[1]);
  char byte = 0;
  const bool there = read(ready[0], &byte, 1) == 1;
  close(ready[0]);
  const Result<Inquiry> inquiry = ask(kernel::SystemCalls::real(), "X");
  kill(outer, SIGKILL);
  waitpid(outer, nullptr, 0);
  if (!there) GTEST_SKIP() << "needs pid namespaces";
  ASSERT_TRUE(inquiry);
  const bool found = std::ranges::any_of(inquiry->answers[0].holders, [&](const Holder& holder) {
    return holder.kind == HolderKind::kWorkingDirectory && holder.pid > 2 && holder.pid != outer;
  });
  EXPECT_TRUE(found);
  EXPECT_FALSE(says(*inquiry, "outside this pid namespace"));
}

TEST_F(ProcfsView, HidepidIsSaidToAnOrdinaryUserAndHidesNothingFromRoot) {
  if (getuid() != 0) GTEST_SKIP() << "needs root, to become somebody else";
  const kernel::UniqueFd held(open("X", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const pid_t holder = getpid();
  const auto look = [&](bool as_root) {
    return in_child([&] {
      if (!mount_own_proc("hidepid=2")) return 77;
      if (!as_root && (setgid(65534) != 0 || setuid(65534) != 0)) return 77;
      const Result<Inquiry> inquiry = ask(kernel::SystemCalls::real(), "X");
      if (!inquiry) return 1;
      const bool found =
          std::ranges::any_of(inquiry->answers[0].holders, [&](const Holder& one) { return one.pid == holder; });
      if (found != as_root) return 2;
      return says(*inquiry, "hidepid") == as_root ? 3 : 0;
    });
  };
  const int root = look(true);
  if (root == 77) GTEST_SKIP() << "needs a mount of /proc with hidepid";
  EXPECT_EQ(root, 0);
  EXPECT_EQ(look(false), 0);
}

// Between the scan of the processes, which /proc/swaps is read after, and the answer the victim ends, and another
// process gets its number.
class NumberUsedAgain : public kernel::SystemCalls {
 public:
  explicit NumberUsedAgain(pid_t victim) : victim_(victim) {}

  [[nodiscard]] long call(long number, long a, long b, long c, long d, long e, long f) const noexcept override {
    if (number == SYS_openat && std::string_view(reinterpret_cast<const char*>(b)) == "/proc/swaps") replace();
    return SystemCalls::call(number, a, b, c, d, e, f);
  }
  [[nodiscard]] bool replaced() const { return successor_ == victim_; }
  ~NumberUsedAgain() override {
    if (successor_ <= 0) return;
    kill(successor_, SIGKILL);
    waitpid(successor_, nullptr, 0);
  }

 private:
  void replace() const {
    kill(victim_, SIGKILL);
    waitpid(victim_, nullptr, 0);
    pid_t wanted = victim_;
    clone_args how{};
    how.exit_signal = SIGCHLD;
    how.set_tid = reinterpret_cast<std::uintptr_t>(&wanted);
    how.set_tid_size = 1;
    const long child = syscall(SYS_clone3, &how, sizeof how);
    if (child == 0) {
      prctl(PR_SET_NAME, "successor");
      for (;;)
        pause();
    }
    successor_ = static_cast<pid_t>(child);
    for (std::string name; child > 0 && name != "successor\n";) {
      const std::string path = "/proc/" + std::to_string(child) + "/comm";
      const kernel::UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
      name.resize(32);
      const ssize_t got = ::read(file.get(), name.data(), name.size());
      name.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    }
  }

  pid_t victim_;
  mutable pid_t successor_ = 0;
};

TEST_F(ProcfsView, ANumberThatIsUsedAgainDoesNotBlameTheNewProcess) {
  int ready[2];
  ASSERT_EQ(pipe2(ready, O_CLOEXEC), 0);
  const pid_t victim = fork();
  if (victim == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "victim");
    if (chdir("X") != 0) _exit(1);
    (void)!write(ready[1], "y", 1);
    for (;;)
      pause();
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  close(ready[0]);
  close(ready[1]);
  const NumberUsedAgain calls(victim);
  const Result<Inquiry> inquiry = ask(calls, "X");
  ASSERT_TRUE(inquiry);
  if (!calls.replaced()) GTEST_SKIP() << "needs clone3(2) with set_tid";
  ASSERT_EQ(inquiry->answers[0].holders.size(), 1U);
  EXPECT_EQ(inquiry->answers[0].holders[0].command, "victim");
}

}  // namespace
}  // namespace unmoor::gone
