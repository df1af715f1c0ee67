// SPDX-License-Identifier: MIT
// Signals during the call: the caller's handlers run once a signal, in the caller, on its own stack; and what a program
// does right afterwards (exec, exit, dump core) is what it would have done without us.
#include <array>
#include <atomic>
#include <csignal>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/time.h>

#include "kernel/detach/scratch.h"

namespace unmoor::test {
namespace {

using detach::Caller;

std::atomic<int> handled{0};
std::atomic<int> handled_elsewhere{0};
pid_t expected_pid = 0;

void count_signal(int /*number*/) {
  ++handled;
  if (getpid() != expected_pid) ++handled_elsewhere;
}

class DetachSignals : public DetachTest {};

TEST_F(DetachSignals, HandlersRunOnceAndInTheCaller) {
  const int rounds = std::getenv("UNMOOR_LONG") != nullptr ? 1000 : 100;
  for (const Caller caller : {Caller::kLibrary, Caller::kProgram}) {
    const int code = in_child([&] {
      if (mkdir("m", 0755) != 0 && errno != EEXIST) return 8;
      expected_pid = getpid();
      struct sigaction action{};
      action.sa_handler = count_signal;
      action.sa_flags = SA_RESTART;
      if (sigaction(SIGUSR1, &action, nullptr) != 0) return 1;
      // A sender that has at most one signal on its way, so that each must be handled exactly once.
      int sent[2];
      if (pipe(sent) != 0) return 2;
      const pid_t target = getpid();
      const pid_t sender = fork();
      if (sender == 0) {
        close(sent[1]);
        signal(SIGUSR1, SIG_DFL);
        char go = 0;
        while (read(sent[0], &go, 1) == 1)
          kill(target, SIGUSR1);
        _exit(0);
      }
      for (int round = 0; round < rounds; ++round) {
        if (mount("t", "m", "tmpfs", 0, nullptr) != 0) return 3;
        const int before = handled;
        if (write(sent[1], "x", 1) != 1) return 4;
        if (!detach_always("m", MNT_DETACH, caller)) return 5;
        while (handled == before)
          usleep(10);
        if (handled != before + 1) return 6;
      }
      close(sent[1]);
      waitpid(sender, nullptr, 0);
      return handled_elsewhere == 0 ? 0 : 7;
    });
    EXPECT_EQ(code, 0);
  }
}

TEST_F(DetachSignals, MaskAndDispositionsAreAsBefore) {
  mount_tmpfs("m");
  const int code = in_child([] {
    sigset_t before;
    sigset_t after;
    std::array<struct sigaction, NSIG> actions{};
    sigemptyset(&before);
    sigaddset(&before, SIGUSR2);
    sigprocmask(SIG_SETMASK, &before, nullptr);
    for (std::size_t number = 1; number < actions.size(); ++number)
      sigaction(static_cast<int>(number), nullptr, &actions[number]);
    if (!detach_always("m")) return 1;
    sigprocmask(SIG_SETMASK, nullptr, &after);
    for (int number = 1; number < SIGRTMAX; ++number) {
      struct sigaction action{};
      if (sigismember(&before, number) != sigismember(&after, number)) return 2;
      if (sigaction(number, nullptr, &action) == 0 &&
          action.sa_handler != actions[static_cast<std::size_t>(number)].sa_handler)
        return 3;
    }
    return 0;
  });
  EXPECT_EQ(code, 0);
}

TEST_F(DetachSignals, ASignalThatKillsKillsTheCaller) {
  mount_tmpfs("m");
  const int code = in_child([] {
    if (!detach_always("m")) return 1;
    kill(getpid(), SIGTERM);
    for (;;)
      pause();
    return 2;
  });
  EXPECT_EQ(code, 128 + SIGTERM);
}

TEST_F(DetachSignals, ACoreDumpRightAfter) {
  mount_tmpfs("m");
  const int code = in_child([] {
    if (!detach_always("m")) return 1;
    std::abort();
    return 2;
  });
  EXPECT_EQ(code, 128 + SIGABRT);
}

TEST_F(DetachSignals, AnExecRightAfterIsTheProgram) {
  for (int round = 0; round < 20; ++round) {
    mount_tmpfs("m");
    const int code = in_child([] {
      if (!detach_always("m")) return 1;
      execl("/bin/sh", "sh", "-c", "exit 42", nullptr);
      return 2;
    });
    ASSERT_EQ(code, 42);
  }
}

}  // namespace
}  // namespace unmoor::test
