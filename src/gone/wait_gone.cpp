// SPDX-License-Identifier: MIT
#include "gone/wait_gone.h"

#include <algorithm>
#include <thread>

#include "gone/device_check.h"
#include "gone/visible_mount.h"
#include "kernel/procfs_place.h"
#include "kernel/superblock_alive.h"
#include "kernel/superblock_shutdown.h"

namespace unmoor::gone {
namespace {

using std::chrono::milliseconds;

bool is_mounted(const Inquiry& inquiry) {
  return std::ranges::any_of(inquiry.answers.front().holders, [](const Holder& holder) {
    return holder.kind == HolderKind::kMount || holder.kind == HolderKind::kNamespace ||
           holder.kind == HolderKind::kNamespaceByHandle || holder.kind == HolderKind::kNamespaceByMount ||
           holder.kind == HolderKind::kNamespaceUnexplained;
  });
}

// What was found by its device while it was mounted nowhere has no known type: no server is behind such a filesystem.
bool may_be_asked_by_number(const Target& target) {
  if (!target.superblock) return false;
  return target.type.empty() ? target.superblock->major != 0 : kernel::answers_by_number(target.type);
}

enum class Where {
  kAnywhere,
  kDetached,  // on mounts of it that are in no table
};

Result<Inquiry> inquire_about(const kernel::SystemCalls& calls, const Target& target, Where where = Where::kAnywhere) {
  Result<Census> census = Census::take(calls);
  if (!census) return std::unexpected(census.error());
  auto shared = std::make_shared<Census>(std::move(*census));
  Target now = target;
  if (where == Where::kDetached) {
    now.scope = Scope::kMount;
    now.attached = false;
  } else if (now.superblock) {
    now.scope = Scope::kFilesystem;
    now.attached = std::ranges::any_of(shared->own().table.entries(), [&](const kernel::MountEntry& entry) {
      return entry.device == *now.superblock && (now.type.empty() || entry.type == now.type);
    });
  }
  return inquire(shared, {std::move(now)});
}

}  // namespace

kernel::Exclusive device_state(const kernel::SystemCalls& calls, const Target& target) {
  if (!target.block_device) return kernel::Exclusive::kUnknown;
  const Result<std::string> node = kernel::block_device_node(calls, *target.block_device);
  return node ? kernel::try_exclusive(calls, *node) : kernel::Exclusive::kUnknown;
}

Result<GoneWaiter> GoneWaiter::prepare(const kernel::SystemCalls& calls, const Target& target) {
  GoneWaiter waiter(calls, target);
  if (!target.mount_point.empty()) {
    waiter.watch_at(target.mount_point, target.mount_id);
  } else {
    // Not mounted here: whoever holds it can lead the watch there.
    Result<Inquiry> inquiry = inquire_about(calls, target);
    if (!inquiry) return std::unexpected(inquiry.error());
    const Answer& answer = inquiry->answers.front();
    if (!waiter.target_.superblock) waiter.target_ = answer.target;
    if (waiter.is_only_a_number()) waiter.known_mounts_.remember(answer.holders);
    waiter.watch_through(answer);
    if (!waiter.target_.superblock && answer.holders.empty()) return fail(ENOENT, "find", target.name);
  }
  if (waiter.target_.block_device) {
    if (Result<std::string> node = kernel::block_device_node(calls, *waiter.target_.block_device))
      waiter.node_ = std::move(*node);
  }
  return waiter;
}

// Arms the watch at `link`, which led to the mount `mount_id` when it was looked at. It may lead to anything by now: a
// descriptor was closed and its number given to another file, a mount point was uncovered. A watch of another
// filesystem would never end.
void GoneWaiter::watch_at(const std::string& link, std::uint64_t mount_id) {
  Result<SuperblockWatch> watch = SuperblockWatch::arm(*calls_, link);
  if (!watch) return;
  bool right = target_.superblock && watch->watched(*calls_) == target_.superblock;
  // A target in no mount table is known by the number that stat told, which btrfs and overlay make up.
  if (!right && target_.type.empty()) {
    const Result<kernel::Place> place = kernel::place_of(*calls_, AT_FDCWD, link.c_str());
    right = place && place->mount_id == mount_id;
  }
  if (right) watch_.emplace(std::move(*watch));
}

// Arms the watch at what one of its holders has open.
void GoneWaiter::watch_through(const Answer& answer) {
  for (const Holder& holder : answer.holders) {
    const std::string link = holder.certainty == Certainty::kCertain ? path_to(holder) : std::string();
    if (link.empty() || watch_ || holder.prevents == Prevents::kDevice) continue;
    watch_at(link, holder.mount_id);
  }
}

// What can be told without the watch: by one try of the device, or by the kernel's list of live superblocks. Where
// neither is possible (a detached mount of an unknown type whose holder let go before the watch was armed), by whether
// anybody holds something on a detached mount of it; another holder leads the watch there. What is mounted with its
// number is another filesystem (see known_mounts.h).
bool GoneWaiter::seems_dead() {
  if (!node_.empty()) return kernel::try_exclusive(*calls_, node_) == kernel::Exclusive::kFree;
  if (target_.superblock && !target_.type.empty())
    return kernel::superblock_alive(*calls_, *target_.superblock, target_.type) == kernel::Alive::kNo;
  Result<Inquiry> inquiry = inquire_about(*calls_, target_, Where::kDetached);
  if (!inquiry) return false;
  Answer& answer = inquiry->answers.front();
  leave_out_strangers(answer);
  watch_through(answer);
  return answer.holders.empty();
}

bool GoneWaiter::is_only_a_number() const {
  return node_.empty() && target_.type.empty();
}

// The number is surely its own as long as the watch lives, and where the type or the device vouches for it.
void GoneWaiter::leave_out_strangers(Answer& answer) {
  if (!watch_ && is_only_a_number()) known_mounts_.leave_out_strangers(answer.holders);
}

// True when the superblock has begun its end (by the watch), or has reached it. A watch that is lost is not waited for
// any longer: `until` is as far away as only a watch may look.
bool GoneWaiter::has_gone(Clock::time_point until) {
  if (watch_) {
    const bool fired = watch_->fired_by(*calls_, until);
    if (!watch_->lost()) return fired;
    watch_.reset();
  } else {
    std::this_thread::sleep_until(until);
  }
  return seems_dead();
}

Result<Verdict> GoneWaiter::ask_who(Outcome outcome) {
  Result<Inquiry> inquiry = inquire_about(*calls_, target_);
  if (!inquiry) return std::unexpected(inquiry.error());
  leave_out_strangers(inquiry->answers.front());
  Verdict verdict{.outcome = outcome};
  if (is_mounted(*inquiry)) verdict.outcome = Outcome::kStillMounted;
  verdict.inquiry = std::move(*inquiry);
  return verdict;
}

Result<Verdict> GoneWaiter::wait(const WaitOptions& options) {
  const Clock::time_point deadline = options.deadline.value_or(Clock::time_point::max());
  if (!has_gone(Clock::now())) {
    // Alive. Without a limit, what is mounted somewhere is an answer and not a wait.
    if (!options.deadline) {
      Result<Verdict> verdict = ask_who(Outcome::kTimedOut);
      if (!verdict || verdict->outcome == Outcome::kStillMounted) return verdict;
    }
    // Without a watch each look is an exclusive open or a system call: further and further apart.
    milliseconds pause(10);
    while (!has_gone(std::min(Clock::now() + (watch_ ? milliseconds(std::chrono::hours(1)) : pause), deadline))) {
      if (Clock::now() >= deadline) return ask_who(Outcome::kTimedOut);
      if (!watch_) pause = std::min(pause * 3 / 2, milliseconds(1000));
    }
  }
  // The event comes before the last writes and before the device is let go.
  if (may_be_asked_by_number(target_) && !kernel::wait_for_shutdown(*calls_, *target_.superblock, deadline))
    return ask_who(Outcome::kTimedOut);
  Verdict verdict{.outcome = Outcome::kGone};
  if (!node_.empty()) {
    const kernel::Exclusive state = wait_until_free(*calls_, node_, deadline);
    if (state == kernel::Exclusive::kInUse) return ask_who(Outcome::kTimedOut);
    verdict.device_was_free = state == kernel::Exclusive::kFree;
  }
  return verdict;
}

}  // namespace unmoor::gone
