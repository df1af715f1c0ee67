// SPDX-License-Identifier: MIT
#include "kernel/superblock_shutdown.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <sched.h>
#include <sys/wait.h>

#include "kernel/superblock_alive.h"
#include "kernel/unique_fd.h"

namespace unmoor::kernel {
namespace {

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

}  // namespace

bool wait_for_shutdown(const SystemCalls& calls, DeviceNumber device, Clock::time_point deadline) {
  int pidfd = -1;
  // No CLONE_VM: like fork(2), but without SIGCHLD. Both return here, each in its own memory.
  const long child = calls.call(SYS_clone, CLONE_PIDFD, 0, SystemCalls::pointer(&pidfd));
  if (child == 0) {
    // Whoever reads our output must not wait for us.
    (void)calls.call(SYS_close_range, 0, ~0U, 0);
    (void)alive_by_number(calls, device);
    (void)calls.call(SYS_exit_group, 0);
  }
  if (child < 0) return true;
  const UniqueFd owner(pidfd);
  const bool ended = ended_by(calls, pidfd, deadline);
  if (!ended) (void)calls.call(SYS_pidfd_send_signal, pidfd, SIGKILL, 0, 0);
  const int flags = WEXITED | __WCLONE | (ended ? 0 : WNOHANG);
  (void)calls.call(SYS_waitid, P_PIDFD, pidfd, 0, flags, 0);
  return ended;
}

}  // namespace unmoor::kernel
