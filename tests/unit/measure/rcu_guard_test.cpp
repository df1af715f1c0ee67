// SPDX-License-Identifier: MIT
#include "measure/rcu_guard.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/child.h"
#include "support/failing_calls.h"
#include "support/fake_knobs.h"

namespace unmoor::measure {
namespace {

using namespace std::chrono_literals;
using test::Child;
using test::FakeKnobs;

RcuGuard::Options normal_on(const FakeKnobs& knobs, std::chrono::milliseconds wait = 0ms) {
  return {.knobs = {.normal = 1, .expedited = {}}, .wait_for_lock = wait, .directory = knobs.directory()};
}

// The guardian restores after its owner's death, so a test that reaps the owner has to give it a moment.
bool comes_to(const FakeKnobs& knobs, int value) {
  for (int i = 0; i < 500; ++i) {
    if (knobs.read("rcu_normal") == value) return true;
    std::this_thread::sleep_for(10ms);
  }
  return false;
}

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "stat");
    std::string line;
    if (!std::getline(file, line)) continue;
    int pid = 0;
    int parent_pid = 0;
    if (std::sscanf(line.c_str(), "%d", &pid) == 1 &&
        std::sscanf(line.c_str() + line.rfind(')'), ") %*c %d", &parent_pid) == 1 && parent_pid == parent) {
      found.push_back(pid);
    }
  }
  return found;
}

// Runs an owner in a child: sets the guard, says ready, then does `rest`.
template <typename Rest>
Child owner_that(const FakeKnobs& knobs, Rest rest) {
  return Child([&knobs, rest](const std::function<void()>& ready) {
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    // An owner that was killed just before keeps the lock until its guardian has ended.
    const Result<RcuGuard> guard = RcuGuard::set(normal_on(knobs, 10s));
    if (!guard) return 99;
    ready();
    return rest();
  });
}

int sleep_on() {
  for (;;)
    pause();
}

TEST(RcuGuard, DestructorPutsBothKnobsBack) {
  const FakeKnobs knobs;
  knobs.write("rcu_expedited", 1);
  {
    RcuGuard::Options options = normal_on(knobs);
    options.knobs.expedited = 0;
    const Result<RcuGuard> guard = RcuGuard::set(options);
    ASSERT_TRUE(guard);
    EXPECT_EQ(knobs.read("rcu_normal"), 1);
    EXPECT_EQ(knobs.read("rcu_expedited"), 0);
    EXPECT_FALSE(guard->disturbed());
  }
  EXPECT_EQ(knobs.read("rcu_normal"), 0);
  EXPECT_EQ(knobs.read("rcu_expedited"), 1);
}

TEST(RcuGuard, ExceptionPutsItBack) {
  const FakeKnobs knobs;
  EXPECT_THROW(
      {
        const Result<RcuGuard> guard = RcuGuard::set(normal_on(knobs));
        ASSERT_TRUE(guard);
        throw std::runtime_error("bench failed");
      },
      std::runtime_error);
  EXPECT_EQ(knobs.read("rcu_normal"), 0);
}

TEST(RcuGuard, SigkillOfTheOwnerPutsItBackAndFreesTheLock) {
  const FakeKnobs knobs;
  Child owner = owner_that(knobs, sleep_on);
  ASSERT_TRUE(owner.ready());
  ASSERT_EQ(knobs.read("rcu_normal"), 1);
  kill(owner.pid(), SIGKILL);
  EXPECT_TRUE(WIFSIGNALED(owner.wait()));
  EXPECT_TRUE(comes_to(knobs, 0));
  EXPECT_TRUE(RcuGuard::set(normal_on(knobs, 5s)));
}

TEST(RcuGuard, SigkillOfTheOwnersProcessGroupPutsItBack) {
  const FakeKnobs knobs;
  Child owner = owner_that(knobs, sleep_on);
  ASSERT_TRUE(owner.ready());
  kill(-owner.pid(), SIGKILL);
  (void)owner.wait();
  EXPECT_TRUE(comes_to(knobs, 0));
}

TEST(RcuGuard, EverySignalThatEndsTheOwnerPutsItBack) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGSEGV, SIGPIPE}) {
    const FakeKnobs knobs;
    Child owner = owner_that(knobs, sleep_on);
    ASSERT_TRUE(owner.ready());
    kill(-owner.pid(), signal);
    (void)owner.wait();
    EXPECT_TRUE(comes_to(knobs, 0)) << "signal " << signal;
  }
}

TEST(RcuGuard, ExitAndExecPutItBack) {
  const FakeKnobs knobs;
  Child exits = owner_that(knobs, [] {
    std::_Exit(0);
    return 0;
  });
  (void)exits.wait();
  EXPECT_TRUE(comes_to(knobs, 0));
  Child execs = owner_that(knobs, [] { return execl("/bin/sleep", "sleep", "60", nullptr); });
  ASSERT_TRUE(execs.ready());
  EXPECT_TRUE(comes_to(knobs, 0));
}

// The owner's fork has a copy of the socket, so only the pidfd tells the guardian that the owner is dead.
TEST(RcuGuard, ForkOfTheOwnerDoesNotKeepItSet) {
  const FakeKnobs knobs;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  Child owner = owner_that(knobs, [&] {
    const pid_t forked = fork();
    if (forked == 0) return sleep_on();
    (void)!write(ends[1], &forked, sizeof forked);
    return sleep_on();
  });
  pid_t forked = 0;
  ASSERT_EQ(read(ends[0], &forked, sizeof forked), static_cast<ssize_t>(sizeof forked));
  kill(owner.pid(), SIGKILL);
  (void)owner.wait();
  EXPECT_TRUE(comes_to(knobs, 0));
  kill(forked, SIGKILL);
  close(ends[0]);
  close(ends[1]);
}

TEST(RcuGuard, ForkThatDestroysItsCopyChangesNothing) {
  const FakeKnobs knobs;
  std::optional<Result<RcuGuard>> guard(RcuGuard::set(normal_on(knobs)));
  ASSERT_TRUE(*guard);
  Child fork_of_ours([&](const std::function<void()>& ready) {
    guard.reset();
    ready();
    return 0;
  });
  (void)fork_of_ours.wait();
  EXPECT_EQ(knobs.read("rcu_normal"), 1);
  EXPECT_FALSE(RcuGuard::set(normal_on(knobs)));
}

TEST(RcuGuard, KilledGuardianLeavesTheOwnerToPutItBack) {
  const FakeKnobs knobs;
  {
    const Result<RcuGuard> guard = RcuGuard::set(normal_on(knobs));
    ASSERT_TRUE(guard);
    const std::vector<pid_t> children = children_of(getpid());
    ASSERT_EQ(children.size(), 1U);
    kill(children[0], SIGKILL);
    EXPECT_EQ(knobs.read("rcu_normal"), 1);
  }
  EXPECT_EQ(knobs.read("rcu_normal"), 0);
}

TEST(RcuGuard, StoppedGuardianDoesNotHangTheOwner) {
  const FakeKnobs knobs;
  {
    const Result<RcuGuard> guard = RcuGuard::set(normal_on(knobs));
    ASSERT_TRUE(guard);
    const std::vector<pid_t> children = children_of(getpid());
    ASSERT_EQ(children.size(), 1U);
    kill(children[0], SIGSTOP);
  }
  EXPECT_EQ(knobs.read("rcu_normal"), 0);
}

TEST(RcuGuard, GuardianIsNoVisibleChildAndHoldsNothingOfTheOwner) {
  const FakeKnobs knobs;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const Result<RcuGuard> guard = RcuGuard::set(normal_on(knobs));
  ASSERT_TRUE(guard);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
  close(ends[1]);
  char byte = 0;
  EXPECT_EQ(read(ends[0], &byte, 1), 0) << "the guardian still holds the pipe";
  close(ends[0]);
}

TEST(RcuGuard, TwoRefuseEachOtherAndNameTheHolder) {
  const FakeKnobs knobs;
  Child owner = owner_that(knobs, sleep_on);
  ASSERT_TRUE(owner.ready());
  const Result<RcuGuard> second = RcuGuard::set(normal_on(knobs));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, EBUSY);
  EXPECT_THAT(second.error().object, testing::HasSubstr("locked by process " + std::to_string(owner.pid())));
  EXPECT_EQ(knobs.read("rcu_normal"), 1);
}

TEST(RcuGuard, SecondInOneProcessIsRefused) {
  const FakeKnobs knobs;
  const Result<RcuGuard> first = RcuGuard::set(normal_on(knobs));
  ASSERT_TRUE(first);
  const Result<RcuGuard> second = RcuGuard::set(normal_on(knobs));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, EBUSY);
}

TEST(RcuGuard, WaitsForTheLockUntilTheDeadline) {
  const FakeKnobs knobs;
  Child owner = owner_that(knobs, [] {
    std::this_thread::sleep_for(200ms);
    return 0;
  });
  ASSERT_TRUE(owner.ready());
  EXPECT_FALSE(RcuGuard::set(normal_on(knobs, 20ms)));
  EXPECT_TRUE(RcuGuard::set(normal_on(knobs, 10s)));
}

TEST(RcuGuard, WhatSomebodyElseWroteMeanwhileStays) {
  const FakeKnobs knobs;
  {
    const Result<RcuGuard> guard = RcuGuard::set(normal_on(knobs));
    ASSERT_TRUE(guard);
    knobs.write("rcu_normal", 7);
    EXPECT_TRUE(guard->disturbed());
  }
  EXPECT_EQ(knobs.read("rcu_normal"), 7);
}

TEST(RcuGuard, NoKnobIsAnError) {
  const Result<RcuGuard> guard = RcuGuard::set({.knobs = {.normal = 1, .expedited = {}}, .directory = "/nonexistent"});
  ASSERT_FALSE(guard);
  EXPECT_EQ(guard.error().code, ENOENT);
  EXPECT_EQ(guard.error().object, "/nonexistent/rcu_normal");
}

TEST(RcuGuard, UnprivilegedIsAnError) {
  const FakeKnobs knobs;
  std::filesystem::permissions(knobs.directory(), std::filesystem::perms(0755));
  std::filesystem::permissions(knobs.directory() + "/rcu_normal", std::filesystem::perms(0444));
  Child other([&](const std::function<void()>& ready) {
    if (geteuid() == 0 && setuid(65534) != 0) return 98;
    const Result<RcuGuard> guard = RcuGuard::set(normal_on(knobs));
    ready();
    return guard ? 0 : guard.error().code;
  });
  EXPECT_EQ(WEXITSTATUS(other.wait()), EACCES);
}

// The destructor's and the guardian's own calls are among these.
TEST(RcuGuard, AnyOneCallThatFailsLeavesTheKnobAsItWas) {
  for (int nth = 1;; ++nth) {
    const FakeKnobs knobs;
    const test::FailingCalls calls(nth, EIO);
    {
      const Result<RcuGuard> guard = RcuGuard::set(normal_on(knobs), calls);
      EXPECT_EQ(knobs.read("rcu_normal"), guard ? 1 : 0) << "call " << nth;
    }
    EXPECT_EQ(knobs.read("rcu_normal"), 0) << "call " << nth;
    EXPECT_TRUE(RcuGuard::set(normal_on(knobs))) << "call " << nth << " left the lock taken";
    while (waitpid(-1, nullptr, __WALL) > 0) {  // the guardian, when it was wait4 that failed
    }
    if (calls.made() < nth) break;
    ASSERT_LT(nth, 200);
  }
}

}  // namespace
}  // namespace unmoor::measure
