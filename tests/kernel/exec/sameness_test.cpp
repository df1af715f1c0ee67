// SPDX-License-Identifier: MIT
// A program under `unmoor exec` is what it would be without: exit code, signals, streams, descriptors, environment.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>

#include "container.h"

namespace unmoor::test {
namespace {

using testing::HasSubstr;
using testing::Not;

void expect_same(const Words& command) {
  const Ran plain = run(command);
  const Ran helped = run(under_exec(command));
  EXPECT_EQ(helped.status, plain.status);
  EXPECT_EQ(helped.out, plain.out);
}

TEST(ExecSameness, OfACrunPayload) {
  UNMOOR_NEEDS_CRUN();
  expect_same(crun_run(make_bundle("facts", {"/probe", "facts"}), "facts"));
  expect_same(crun_run(make_bundle("code", {"/probe", "exit", "42"}), "code"));
  expect_same(crun_run(make_bundle("signal", {"/probe", "signal", "9"}), "signal"));
}

TEST(ExecSameness, OfABwrapPayload) {
  UNMOOR_NEEDS_BWRAP();
  const Words bwrap = {"bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-pid"};
  for (const Words& tail : std::vector<Words>{{UNMOOR_PROBE, "facts"},
                                              {UNMOOR_PROBE, "exit", "42"},
                                              {UNMOOR_PROBE, "signal", "15"},
                                              {"cat", "/proc/self/environ"},
                                              {"sh", "-c",
                                               "ls -l /proc/self/fd | sed 's/.* [0-9:]* \\([0-9]\\)/\\1/; s/[[].*//' | "
                                               "grep -v proc; env"}}) {
    Words command = bwrap;
    command.insert(command.end(), tail.begin(), tail.end());
    expect_same(command);
  }
}

TEST(ExecSameness, OfAShellAndItsChildren) {
  const Ran plain = shell("A=1 sh -c 'env; ls /proc/self/fd; kill -l $((128+9)); exit 7' | cat");
  const Ran helped =
      shell("A=1 " UNMOOR_PROGRAM " exec --force -- sh -c 'env; ls /proc/self/fd; kill -l $((128+9)); exit 7' | cat");
  // "_" is the path of the program that the shell executed.
  const auto without_underscore = [](std::string text) {
    const std::size_t at = text.find("\n_=");
    return at == std::string::npos ? text : text.erase(at, text.find('\n', at + 1) - at);
  };
  EXPECT_EQ(without_underscore(helped.out), without_underscore(plain.out));
  EXPECT_EQ(run(under_exec({"sh", "-c", "exit 7"})).status, 7 << 8);
  EXPECT_EQ(run(under_exec({"sh", "-c", "kill -TERM $$"})).status, SIGTERM);
}

TEST(ExecSameness, OfAStaticProgram) {
  const Ran plain = run({UNMOOR_PROBE, "facts"});
  const Ran helped = run(under_exec({UNMOOR_PROBE, "facts"}, {"--quiet"}));
  const auto without_pid = [](std::string text) {
    return text.erase(text.find("pid "), text.find(" sid") - text.find("pid "));
  };
  EXPECT_EQ(without_pid(helped.out), without_pid(plain.out));
  const Ran told = run(under_exec({UNMOOR_PROBE, "exit", "3"}));
  EXPECT_EQ(told.status, 3 << 8);
  EXPECT_THAT(told.out, HasSubstr("statically linked"));
  const Ran refused = run(under_exec({UNMOOR_PROBE, "exit", "3"}, {"--strict"}));
  EXPECT_EQ(refused.status, 125 << 8);
}

TEST(ExecSameness, StandardInputArrives) {
  EXPECT_EQ(shell("printf hello | " UNMOOR_PROGRAM " exec --force -- cat").out, "hello");
}

TEST(ExecSameness, ALauncherWithClosedStreamsGetsABrokerToo) {
  UNMOOR_NEEDS_MOUNTS();
  ASSERT_TRUE(copy_umount());
  for (const char* closed : {"<&-", "2>&-", "<&- >&- 2>&-"}) {
    ASSERT_EQ(shell("rm -f report; mkdir -p m && mount -t tmpfs t m").status, 0);
    EXPECT_EQ(
        shell(UNMOOR_PROGRAM " exec --force --defer=always --report=report -- ./umount -l m " + std::string(closed))
            .status,
        0)
        << closed;
    EXPECT_THAT(wait_for_report({"deferred"}), tells_of_a_helped_unmount()) << closed;
  }
}

TEST(ExecSameness, ThePidIsTheOneThatWasStarted) {
  EXPECT_EQ(shell("sh -c 'echo $$; exec " UNMOOR_PROGRAM " exec --force -- sh -c \"echo \\$\\$\"' | uniq | wc -l").out,
            "1\n");
}

TEST(ExecSameness, TheProgramHasNoChildThatItDidNotStart) {
  // `wait` of a shell knows only its own; the kernel's list knows all.
  const Ran ran = run(under_exec({"sh", "-c", "cat /proc/$$/task/$$/children"}));
  EXPECT_EQ(std::count(ran.out.begin(), ran.out.end(), ' '), 1) << "only cat itself: " << ran.out;
}

TEST(ExecSameness, ASubreaperGetsNoBroker) {
  UNMOOR_NEEDS_MOUNTS();
  // A subreaper executes `unmoor exec`: it stays one, and the orphaned broker must go past it.
  if (!installed("python3")) GTEST_SKIP() << "needs python3";
  const Ran ran = run({"python3", "-c",
                       "import ctypes,os,sys\n"
                       "ctypes.CDLL(None).prctl(36,1,0,0,0)\n"
                       "os.execv(sys.argv[1],[sys.argv[1],'exec','--force','--','sh','-c',"
                       "'cat /proc/$$/task/$$/children'])",
                       UNMOOR_PROGRAM});
  EXPECT_EQ(std::count(ran.out.begin(), ran.out.end(), ' '), 1) << "only cat itself: " << ran.out;
}

TEST(ExecSameness, ACommandSubstitutionDoesNotWaitForTheBroker) {
  // The broker lives as long as the background sleep's shim is loaded; run() returns when nobody has the pipe open.
  const Ran ran = shell("x=$(" UNMOOR_PROGRAM " exec --force -- sh -c 'sleep 3 >/dev/null 2>&1 & echo out'); echo $x");
  EXPECT_EQ(ran.out, "out\n");
}

TEST(ExecSameness, ASetuidProgramIgnoresTheShim) {
  UNMOOR_NEEDS_MOUNTS();
  ASSERT_EQ(shell("cp /usr/bin/env ./setuid-env && chmod 4755 ./setuid-env").status, 0);
  const Ran direct = run(under_exec({"./setuid-env"}, {"--quiet"}));
  EXPECT_THAT(direct.out, Not(HasSubstr("UNMOOR_EXEC")));
  const Ran child = run(under_exec({"sh", "-c", "./setuid-env"}));
  EXPECT_EQ(child.status, 0);
  EXPECT_THAT(child.out, Not(HasSubstr("UNMOOR_EXEC")));
  EXPECT_THAT(child.out, Not(HasSubstr("LD_PRELOAD")));
}

TEST(ExecSameness, AProgramInAnotherRootGetsNoPreloadError) {
  UNMOOR_NEEDS_MOUNTS();
  if (!installed("chroot") || geteuid() != 0) GTEST_SKIP() << "needs chroot";
  ASSERT_EQ(
      shell("mkdir -p other && for f in /bin/sh $(ldd /bin/sh | grep -o '/[^ ]*'); do mkdir -p other$(dirname $f) "
            "&& cp -L $f other$f; done")
          .status,
      0);
  const Ran ran = run(under_exec({"chroot", "other", "/bin/sh", "-c", "echo fine; echo \"[$LD_PRELOAD]\""}));
  EXPECT_EQ(ran.out, "fine\n[]\n");
}

TEST(ExecSameness, WhatCannotBeExecutedSaysSo) {
  EXPECT_EQ(run(under_exec({"/nowhere/program"})).status, 127 << 8);
  EXPECT_EQ(run(under_exec({"/etc"})).status, 126 << 8);
  EXPECT_EQ(run({UNMOOR_PROGRAM, "exec", "--defer=sometimes", "true"}).status, 125 << 8);
  EXPECT_EQ(run({UNMOOR_PROGRAM, "exec"}).status, 125 << 8);
}

}  // namespace
}  // namespace unmoor::test
