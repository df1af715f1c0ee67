// SPDX-License-Identifier: MIT
// How many system calls an unmount takes. A test of what it costs that no load on the machine can disturb.
#include <map>
#include <numeric>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "kernel/umount/umount_tree.h"
#include "support/kernel_version.h"
#include "support/sanitizer.h"

namespace unmoor::test {
namespace {

using Counts = std::map<long, int>;  // by the number of the call

// Counts the calls of the program and of whatever it starts, from its first instruction on. Empty: not to be traced.
// Reading the clock does not count: it is a call only on a machine whose clock the vDSO cannot read, an emulated one.
Counts traced(std::vector<std::string> command) {
  Counts counts;
  const pid_t child = fork();
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(126);
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    raise(SIGSTOP);
    exec_words(command);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) return counts;
  ptrace(PTRACE_SETOPTIONS, child, nullptr,
         PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL);
  bool begun = false;
  ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
  for (pid_t at = 0; (at = waitpid(-1, &status, __WALL)) > 0;) {
    if (!WIFSTOPPED(status)) {
      if (at == child) break;
      continue;
    }
    int signal = WSTOPSIG(status);
    if (signal == (SIGTRAP | 0x80)) {
      __ptrace_syscall_info call{};
      ptrace(PTRACE_GET_SYSCALL_INFO, at, sizeof call, &call);
      if (call.op == PTRACE_SYSCALL_INFO_ENTRY && begun && call.entry.nr != SYS_clock_gettime)
        ++counts[static_cast<long>(call.entry.nr)];
      if (call.op == PTRACE_SYSCALL_INFO_ENTRY && static_cast<long>(call.entry.nr) == SYS_execve) begun = true;
    }
    if ((signal & 0x7f) == SIGTRAP || signal == SIGSTOP) signal = 0;
    ptrace(PTRACE_SYSCALL, at, nullptr, signal);
  }
  return counts;
}

int total(const Counts& counts) {
  return std::accumulate(counts.begin(), counts.end(), 0, [](int sum, const auto& one) { return sum + one.second; });
}

std::string listed(const Counts& counts) {
  std::string text;
  for (const auto& [number, times] : counts)
    text += std::to_string(number) + ": " + std::to_string(times) + "\n";
  return text;
}

class UmountSystemCalls : public UmountTree {
 protected:
  void SetUp() override {
    UmountTree::SetUp();
    if (IsSkipped()) return;
    if (geteuid() != 0) GTEST_SKIP() << "needs root: an ordinary user's unmounts are libmount's";
    start_ = total(traced(words({"--version"})));
    if (start_ == 0) GTEST_SKIP() << "needs ptrace";
  }
  // Without what any start of the program takes.
  [[nodiscard]] int beyond_the_start(const Counts& counts) const { return total(counts) - start_; }
  [[nodiscard]] Counts calls_of_a_tree(int mounts, const std::vector<std::string>& arguments) const {
    (void)mkdir(path("t").c_str(), 0755);
    EXPECT_EQ(mount("t", path("t").c_str(), "tmpfs", 0, nullptr), 0);
    for (int i = 0; i < mounts; ++i)
      mount_at("t/" + std::to_string(i));
    std::vector<std::string> all = arguments;
    all.push_back(path("t"));
    Counts counts = traced(words(all));
    EXPECT_EQ(left(), 1U);
    return counts;
  }

  int start_ = 0;
};

TEST_F(UmountSystemCalls, OneUnmountTakesAHandful) {
  UNMOOR_NEEDS_NO_SANITIZER("it makes system calls");
  struct Case {
    const char* option;
    int at_most;  // -l also asks what kind of grace periods there are
  };
  // Older kernels tell less by statmount(2), and before 6.8 all of it is read from /proc.
  const bool recent = kernel_at_least(6, 18);
  for (const Case& one : {Case{"-i", 7}, Case{"-n", recent ? 10 : 12}, Case{"-l", recent ? 13 : 40}}) {
    mount_at("a");
    const Counts counts = traced(words({one.option, path("a")}));
    EXPECT_EQ(counts.at(SYS_umount2), 1);
    EXPECT_LE(beyond_the_start(counts), one.at_most) << one.option << "\n" << listed(counts);
    EXPECT_EQ(left(), 1U);
  }
}

// One look at what the path leads to, and the call itself.
TEST_F(UmountSystemCalls, EachMountOfATreeTakesTwo) {
  const Counts few = calls_of_a_tree(50, {"-R", "--jobs=1"});
  const Counts more = calls_of_a_tree(250, {"-R", "--jobs=1"});
  EXPECT_EQ(more.at(SYS_umount2) - few.at(SYS_umount2), 200);
  EXPECT_EQ(more.at(SYS_statx) - few.at(SYS_statx), 200);
  EXPECT_LE(total(more) - total(few), 2 * 200 + 30) << "reading the table takes the rest\n" << listed(more);
}

TEST_F(UmountSystemCalls, ALazyTreeTakesOneCallHoweverBig) {
  const Counts few = calls_of_a_tree(50, {"-R", "-l", "--defer=never"});
  const Counts more = calls_of_a_tree(250, {"-R", "-l", "--defer=never"});
  EXPECT_EQ(more.at(SYS_umount2), 1);
  EXPECT_LE(total(more) - total(few), 30) << "reading the table takes the rest\n" << listed(more);
}

}  // namespace
}  // namespace unmoor::test
