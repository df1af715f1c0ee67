// SPDX-License-Identifier: MIT
#include "measure/guardian.h"

#include <algorithm>
#include <csignal>
#include <limits>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include "kernel/signals_blocked.h"

namespace unmoor::measure {
namespace {

using kernel::SystemCalls;
using kernel::UniqueFd;

void close_range(const SystemCalls& calls, int first, int last) {
  if (calls.call(SYS_close_range, first, last, 0) == 0) return;
  constexpr int kHighest = 65536;  // one by one where a filter refuses the call; nobody here opens more
  for (int fd = first; fd <= std::min(last, kHighest); ++fd)
    (void)calls.close(fd);
}

// One of the owner's descriptors might pin a mount, or keep a reader of a pipe waiting.
void close_all_but(const SystemCalls& calls, std::array<int, 4> kept) {
  std::ranges::sort(kept);
  int from = 0;
  for (const int fd : kept) {
    if (fd > from) close_range(calls, from, fd - 1);
    if (fd >= 0) from = fd + 1;
  }
  close_range(calls, from, std::numeric_limits<int>::max());
}

[[noreturn]] void end(const SystemCalls& calls) {
  for (;;)
    (void)calls.call(SYS_exit_group, 0);
}

// Two signs of the owner's death, because each alone can fail: the socket is held open by a fork of the owner that has
// not called exec, and pidfd_open may be refused (seccomp, Linux before 5.3).
[[noreturn]] void guard_until_owner_dies(const SystemCalls& calls, pid_t owner, int socket, std::array<int, 2> kept,
                                         const std::function<void()>& on_death) {
  (void)calls.call(SYS_setsid);
  (void)calls.call(SYS_chdir, SystemCalls::pointer("/"));
  const int pidfd = static_cast<int>(calls.call(SYS_pidfd_open, owner, 0));
  close_all_but(calls, {socket, pidfd, kept[0], kept[1]});
  const char ready = 1;
  // An owner that is not told waits for the byte or for our end.
  if (calls.call(SYS_write, socket, SystemCalls::pointer(&ready), 1) != 1) end(calls);
  std::array<pollfd, 2> signs{{{socket, POLLIN, 0}, {pidfd, POLLIN, 0}}};  // a negative fd is ignored by poll
  for (;;) {
    const long events = calls.call(SYS_ppoll, SystemCalls::pointer(signs.data()), signs.size(), 0, 0, 0);
    if (events > 0) break;
    if (events == -EINTR) continue;
    char byte = 0;
    while (calls.read(socket, &byte, 1) == -EINTR) {
    }
    break;
  }
  on_death();
  end(calls);
}

}  // namespace

Result<Guardian> Guardian::start(const SystemCalls& calls, std::array<int, 2> kept,
                                 const std::function<void()>& on_death) {
  std::array<int, 2> ends{-1, -1};
  const long made =
      calls.call(SYS_socketpair, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, SystemCalls::pointer(ends.data()));
  if (made < 0) return fail_from(made, "socketpair", "guardian");
  UniqueFd ours(ends[0]);
  UniqueFd theirs(ends[1]);
  const pid_t owner = ::getpid();
  long child = 0;
  {
    const kernel::SignalsBlocked blocked(calls);
    // A fork with exit signal 0: no SIGCHLD, and no child that the owner's wait(-1) would see.
    child = calls.call(SYS_clone, 0, 0, 0, 0, 0);
    if (child == 0) guard_until_owner_dies(calls, owner, theirs.get(), kept, on_death);
  }
  if (child < 0) return fail_from(child, "clone", "guardian");
  theirs.reset();
  Guardian guardian(calls, owner, static_cast<pid_t>(child), std::move(ours));
  for (;;) {
    char ready = 0;
    const long got = calls.read(guardian.socket_.get(), &ready, 1);
    if (got == 1) return guardian;
    if (got != -EINTR) return fail(EIO, "start", "guardian");
  }
}

Guardian::Guardian(Guardian&& other) noexcept
    : calls_(other.calls_),
      owner_(other.owner_),
      guardian_(std::exchange(other.guardian_, 0)),
      socket_(std::move(other.socket_)) {}

bool Guardian::owned() const {
  return ::getpid() == owner_;
}

void Guardian::dismiss(Last last) {
  if (guardian_ <= 0 || !owned()) return;
  // The end of the socket tells it to act and end. A stopped one would not hear that: killed, unless still needed.
  socket_.reset();
  if (last == Last::kNothing) (void)calls_->call(SYS_kill, guardian_, SIGKILL);
  while (calls_->call(SYS_wait4, guardian_, 0, __WALL, 0) == -EINTR) {
  }
  guardian_ = 0;
}

}  // namespace unmoor::measure
