// SPDX-License-Identifier: MIT
#include "kernel/superblock_shutdown.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <new>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "kernel/raw_call.h"
#include "kernel/signals_blocked.h"
#include "kernel/superblock_alive.h"
#include "kernel/unique_fd.h"

namespace unmoor::kernel {
namespace {

#ifdef SYS_ustat
using Clock = std::chrono::steady_clock;

// False at the deadline.
bool ended_by(const SystemCalls& calls, int pidfd, Clock::time_point deadline) {
  for (;;) {
    const auto left = std::max<long>(std::chrono::ceil<std::chrono::milliseconds>(
                                         std::min(deadline - Clock::now(), Clock::duration(std::chrono::hours(1))))
                                         .count(),
                                     0);
    pollfd wait{.fd = pidfd, .events = POLLIN, .revents = 0};
    const timespec timeout{.tv_sec = left / 1000, .tv_nsec = left % 1000 * 1000000};
    const long ready = calls.call(SYS_ppoll, SystemCalls::pointer(&wait), 1, SystemCalls::pointer(&timeout), 0, 8);
    if (ready > 0) return true;
    if (ready < 0 && ready != -EINTR) return false;
    if (Clock::now() >= deadline) return false;
  }
}

struct Question {
  alignas(16) std::array<char, 16384> stack;
  long device;
  std::array<char, 64> answer;  // struct ustat: 32 bytes
};

// In a process that shares our memory, because a copy of it takes a millisecond to make and to end. Nothing here may
// touch errno. It has a descriptor table of its own: whoever reads our output must not wait for it.
__attribute__((no_sanitize("address", "thread", "undefined"))) int put_question(void* argument) {
  auto* const question = static_cast<Question*>(argument);
  raw_call(SYS_close_range, 0, ~0U, 0);
  raw_call(SYS_ustat, question->device, reinterpret_cast<long>(question->answer.data()));
  raw_call(SYS_exit_group, 0);
  return 0;
}
#endif

}  // namespace

bool wait_for_shutdown(const SystemCalls& calls, DeviceNumber device, std::chrono::steady_clock::time_point deadline) {
#ifdef SYS_ustat
  const long memory =
      calls.call(SYS_mmap, 0, sizeof(Question), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (memory < 0 && memory >= -4095) return true;
  Question& question = *new (reinterpret_cast<void*>(memory)) Question;
  question.device = ustat_number(device);
  int pidfd = -1;
  long child = 0;
  {
    // What is sent to our process group must not run a handler of ours in the child.
    const SignalsBlocked blocked(calls);
    child = calls.clone_sharing_memory(put_question, question.stack.data() + question.stack.size(), CLONE_PIDFD,
                                       &question, &pidfd);
  }
  bool ended = true;
  if (child >= 0) {
    const UniqueFd owner(pidfd);
    ended = ended_by(calls, pidfd, deadline);
    if (!ended) (void)calls.call(SYS_pidfd_send_signal, pidfd, SIGKILL, 0, 0);
    (void)calls.call(SYS_waitid, P_PIDFD, pidfd, 0, WEXITED | __WCLONE | (ended ? 0 : WNOHANG), 0);
  }
  // A child that is left to itself still needs its stack.
  if (ended) (void)calls.call(SYS_munmap, memory, sizeof(Question));
  return ended;
#else
  (void)calls, (void)device, (void)deadline;
  return true;
#endif
}

}  // namespace unmoor::kernel
