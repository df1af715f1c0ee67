// SPDX-License-Identifier: MIT
#include "detach/detach.h"

#include <functional>
#include <sys/mount.h>

#include "detach/attempt.h"
#include "detach/decision.h"
#include "detach/reaper.h"
#include "detach/target.h"
#include "kernel/signals_blocked.h"

namespace unmoor::detach {
namespace {

using kernel::SystemCalls;
using Clock = std::chrono::steady_clock;

Outcome outcome(DeferReason reason, Clock::time_point begun) {
  return {.deferred = reason == DeferReason::kDeferred,
          .reason = reason,
          .took = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begun)};
}

// The reason why the helper did not do it, or the one that says that it did.
DeferReason try_helper(const SystemCalls& calls, const Target& target, int umount_flags, const Options& options,
                       const Decision& decision) {
  const kernel::SignalsBlocked blocked(calls);
  if (!blocked) return DeferReason::kNoHelper;
  const std::function<bool()> may_return = [&] { return still_holds(calls, decision); };
  const Attempt attempt{.calls = calls, .target = target, .umount_flags = umount_flags, .may_return = may_return};
  switch (options.caller == Caller::kProgram ? attempt_visibly(attempt) : attempt_hidden(attempt)) {
    case Verdict::kDetached:
      return DeferReason::kDeferred;
    case Verdict::kFinished:
      return DeferReason::kFinishedFirst;
    case Verdict::kNothingDone:
      break;
  }
  return DeferReason::kNoHelper;
}

struct Deferring {
  DeferReason reason;  // kDeferred or kFinishedFirst: done. Anything else: left to the plain call, and why
  Decision decision{};
};

Deferring try_to_defer(const SystemCalls& calls, const char* path, int umount_flags, const Options& options) {
  if ((umount_flags & MNT_DETACH) == 0) return {DeferReason::kNotLazy};
  if (options.defer == Defer::kNever) return {DeferReason::kNever};
  constexpr int known_flags = MNT_DETACH | MNT_FORCE | UMOUNT_NOFOLLOW;
  if ((umount_flags & ~known_flags) != 0) return {DeferReason::kNotAMountPoint};  // the kernel will say EINVAL
  // Nothing is looked at where the plain call is the faster one anyway.
  if (options.defer != Defer::kAlways && !grace_periods_are_slow(calls)) return {DeferReason::kPlainIsFaster};
  const auto target = name_target(calls, path, umount_flags);
  if (!target) return {target.error().code == EOPNOTSUPP ? DeferReason::kNotSeen : DeferReason::kNotAMountPoint};
  Decision decision;
  if (options.defer != Defer::kAlways) decision = decide(calls, *target, options);
  if (!decision.may_defer()) return {decision.reason, std::move(decision)};
  if (options.defer == Defer::kAlways && options.caller == Caller::kLibrary && asks_a_server(calls, *target)) {
    return {DeferReason::kServer};
  }
  const DeferReason reason = try_helper(calls, *target, umount_flags, options, decision);
  return {reason, std::move(decision)};
}

}  // namespace

Result<Outcome> detach_one(const SystemCalls& calls, const char* target, int umount_flags, const Options& options) {
  const auto begun = Clock::now();
  reap_remembered(calls, ReapMode::kThoseThatEnded);
  const Deferring deferring = try_to_defer(calls, target, umount_flags, options);
  if (deferring.reason != DeferReason::kDeferred && deferring.reason != DeferReason::kFinishedFirst) {
    const long result = calls.umount2(target, umount_flags);
    if (result < 0) return fail_from(result, "umount2");
  }
  settle(calls, deferring.decision.to_settle);
  // What was expected to stay mounted elsewhere, and has been detached there meanwhile, may go late by that detach.
  if (deferring.reason != DeferReason::kDeferred && !still_holds(calls, deferring.decision))
    settle(calls, deferring.decision.must_stay);
  return outcome(deferring.reason, begun);
}

void reap_helpers() {
  reap_remembered(SystemCalls::real(), ReapMode::kWaitForAll);
}

}  // namespace unmoor::detach
