// SPDX-License-Identifier: MIT
#include "detach/reaper.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

namespace unmoor::detach {
namespace {

// 0: free. A pid: remembered. Minus a pid: a thread is asking about it.
std::array<std::atomic<pid_t>, 1024> entries{};
std::atomic<int> remembered{0};  // entries in use: nothing to do is seen in one load
std::atomic<pid_t> owner{0};     // the process whose children they are

// In a forked child the entries are its parent's children.
void forget_if_forked() noexcept {
  const pid_t self = getpid();
  pid_t before = owner.load();
  if (before == self || !owner.compare_exchange_strong(before, self) || before == 0) return;
  for (auto& entry : entries)
    entry.store(0);
  remembered.store(0);
}

long wait_id(const kernel::SystemCalls& calls, pid_t child, int flags, siginfo_t& info) noexcept {
  for (;;) {
    const long result =
        calls.call(SYS_waitid, P_PID, child, kernel::SystemCalls::pointer(&info), WEXITED | __WALL | flags);
    if (result != -EINTR) return result;
  }
}

enum class Answer { kRunning, kGone };

Answer ask(const kernel::SystemCalls& calls, pid_t child, int flags) noexcept {
  siginfo_t info{};
  const long result = wait_id(calls, child, flags, info);
  if (result == -ECHILD) return Answer::kGone;
  return result == 0 && info.si_pid == child ? Answer::kGone : Answer::kRunning;
}

void ask_about(const kernel::SystemCalls& calls, std::atomic<pid_t>& entry, int flags) noexcept {
  pid_t child = entry.load();
  if (child <= 0 || !entry.compare_exchange_strong(child, -child)) return;
  if (ask(calls, child, flags) == Answer::kGone) {
    entry.store(0);
    remembered.fetch_sub(1);
  } else {
    entry.store(child);
  }
}

bool place(pid_t child) noexcept {
  for (auto& entry : entries) {
    pid_t free = 0;
    if (entry.load(std::memory_order_relaxed) == 0 && entry.compare_exchange_strong(free, child)) return true;
  }
  return false;
}

}  // namespace

void remember_helper(const kernel::SystemCalls& calls, pid_t child) noexcept {
  forget_if_forked();
  remembered.fetch_add(1);
  if (place(child)) return;
  remembered.fetch_sub(1);
  static_cast<void>(wait_for_child(calls, child));
}

void reap_remembered(const kernel::SystemCalls& calls, ReapMode mode) noexcept {
  if (remembered.load() == 0) return;
  forget_if_forked();
  const int flags = mode == ReapMode::kWaitForAll ? 0 : WNOHANG;
  for (auto& entry : entries)
    ask_about(calls, entry, flags);
}

long wait_for_child(const kernel::SystemCalls& calls, pid_t child) noexcept {
  siginfo_t info{};
  const long result = wait_id(calls, child, 0, info);
  if (result < 0) return result;
  return info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
}

}  // namespace unmoor::detach
