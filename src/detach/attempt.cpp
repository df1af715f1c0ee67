// SPDX-License-Identifier: MIT
#include "detach/attempt.h"

#include <chrono>
#include <csignal>
#include <cstdint>
#include <poll.h>
#include <sys/eventfd.h>

#include "detach/helper/protocol.h"
#include "detach/helper_process.h"
#include "detach/reaper.h"
#include "detach/watch.h"

namespace unmoor::detach {
namespace {

using kernel::MountId;
using kernel::SystemCalls;
using kernel::UniqueFd;
using Clock = std::chrono::steady_clock;

// How long the helper may take to let go of what it inherited; closing can block in a filesystem that does not answer.
constexpr std::chrono::microseconds kClosePatience{2000};

// Who reads the eventfd's 1 decides: the helper, that the call is made; the caller, that it never will be.
bool take_token(const SystemCalls& calls, int token) {
  std::uint64_t value = 0;
  return calls.read(token, &value, sizeof value) == static_cast<long>(sizeof value);
}

struct Watched {
  MountId id;
  DetachWatch watch;
};

// By unique id where statmount works; where only one of the two does (an old kernel, a seccomp filter), by the mount
// table's id, if that is still the same mount.
Result<Watched> begin_watch(const SystemCalls& calls, const Target& target) {
  auto watch = DetachWatch::begin(calls, target.id);
  if (watch) return Watched{.id = target.id, .watch = std::move(*watch)};
  if (!target.id.unique()) return std::unexpected(watch.error());
  const auto identify = [&](unsigned mask) {
    return kernel::mount_id(calls, target.parent.get(), target.entry.c_str(), AT_SYMLINK_NOFOLLOW, mask);
  };
  const auto old_id = identify(kernel::kStatxMountId);
  const auto again = identify(kernel::kStatxMountIdUnique);
  if (!old_id || !again || !again->same_mount(target.id)) return std::unexpected(watch.error());
  watch = DetachWatch::begin(calls, *old_id);
  if (!watch) return std::unexpected(watch.error());
  return Watched{.id = *old_id, .watch = std::move(*watch)};
}

// What became of a helper that has ended.
Tried ended(const Attempt& attempt, const HelperProcess& helper, const DetachWatch& watch) {
  const long status = wait_for_child(attempt.calls, helper.pid);
  if (status == kHelperDone) return {.verdict = Verdict::kFinished};
  // SIGCHLD ignored, or somebody killed it: the mount itself knows.
  const bool answered = status > kHelperDone && status < 128;
  const bool unreaped = status < 0 && status != -ECHILD;
  return {.verdict = !answered && watch.detached() ? Verdict::kFinished : Verdict::kNothingDone,
          .running = unreaped ? helper.pid : 0};
}

Tried detached(const Attempt& attempt, const HelperProcess& helper) {
  if (!attempt.may_return || attempt.may_return()) return {.verdict = Verdict::kDetached, .running = helper.pid};
  const long status = wait_for_child(attempt.calls, helper.pid);
  return {.verdict = Verdict::kFinished, .running = status < 0 && status != -ECHILD ? helper.pid : 0};
}

Tried give_up(const Attempt& attempt, const HelperProcess& helper) {
  static_cast<void>(attempt.calls.call(SYS_kill, helper.pid, SIGKILL));
  // It may be stuck in a close that no signal ends: reaped later, not waited for.
  return {.verdict = Verdict::kNothingDone, .running = helper.pid};
}

Tried see_through(const Attempt& attempt, const HelperProcess& helper, int token, const DetachWatch& watch) {
  const auto patience_ends = Clock::now() + kClosePatience;
  bool call_is_made = false;
  for (;;) {
    struct timespec rest{};
    if (!call_is_made) {
      const auto left = std::max(patience_ends - Clock::now(), Clock::duration::zero());
      rest.tv_nsec = std::chrono::duration_cast<std::chrono::nanoseconds>(left).count();
    }
    struct pollfd either[] = {{watch.events(), POLLPRI, 0}, {helper.pidfd.get(), POLLIN, 0}};
    const long ready = attempt.calls.call(SYS_ppoll, SystemCalls::pointer(either), 2,
                                          call_is_made ? 0 : SystemCalls::pointer(&rest), 0, 0);
    if (ready < 0 && ready != -EINTR) return ended(attempt, helper, watch);  // no poll: wait for its end instead
    if (either[1].revents != 0) return ended(attempt, helper, watch);
    if (either[0].revents != 0 && watch.detached()) return detached(attempt, helper);
    if (!call_is_made && Clock::now() >= patience_ends) {
      if (take_token(attempt.calls, token)) return give_up(attempt, helper);
      call_is_made = true;
    }
  }
}

}  // namespace

Tried try_with_helper(const Attempt& attempt) {
  const SystemCalls& calls = attempt.calls;
  const auto watched = begin_watch(calls, attempt.target);
  if (!watched) return {};
  const long token = calls.call(SYS_eventfd2, 1, EFD_CLOEXEC | EFD_NONBLOCK);
  if (token < 0) return {};
  const UniqueFd token_owner(static_cast<int>(token));
  const auto helper = start_helper(calls, attempt.target, watched->id, token_owner.get(), attempt.umount_flags);
  if (!helper) return {};
  return see_through(attempt, *helper, token_owner.get(), watched->watch);
}

Verdict attempt_visibly(const Attempt& what) {
  const Tried tried = try_with_helper(what);
  if (tried.running != 0) remember_helper(what.calls, tried.running);
  return tried.verdict;
}

}  // namespace unmoor::detach
