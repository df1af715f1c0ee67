// SPDX-License-Identifier: MIT
// Waits until a filesystem is gone: its superblock has shut down, and its device can be opened exclusively.
#pragma once

#include <memory>
#include <optional>

#include "gone/inquiry.h"
#include "gone/known_mounts.h"
#include "gone/superblock_watch.h"

namespace unmoor::gone {

enum class Outcome {
  kGone,
  kTimedOut,      // held, or still being written, when the time was over
  kStillMounted,  // mounted somewhere: it will not go by itself
};

struct Verdict {
  Outcome outcome = Outcome::kTimedOut;
  // False where the device could not be asked: there is none, or it may not be opened.
  bool device_was_free = false;
  std::optional<Inquiry> inquiry{};  // who holds it, or where it is mounted; not when it is gone
};

struct WaitOptions {
  std::optional<Clock::time_point> deadline{};  // none: as long as it takes, unless it is mounted somewhere
};

// One filesystem, watched from before the unmount on.
class GoneWaiter {
 public:
  // For a target that is mounted: arms the watch at its mount point. For one that is not: at what a holder of it has
  // open, else there is none, and its device, the kernel's own list or /proc is asked again and again.
  // Errors: ENOENT when nothing of it is alive any more, or was ever seen: nothing to wait for.
  [[nodiscard]] static Result<GoneWaiter> prepare(const kernel::SystemCalls& calls, const Target& target);

  [[nodiscard]] const Target& target() const { return target_; }
  [[nodiscard]] Result<Verdict> wait(const WaitOptions& options);

 private:
  GoneWaiter(const kernel::SystemCalls& calls, Target target)
      : calls_(&calls), target_(std::move(target)), known_mounts_(calls) {}
  [[nodiscard]] Result<Verdict> ask_who(Outcome outcome);
  [[nodiscard]] bool has_gone(Clock::time_point until);
  [[nodiscard]] bool seems_dead();
  void watch_at(const std::string& link, std::uint64_t mount_id);
  void watch_through(const Answer& answer);
  [[nodiscard]] bool is_only_a_number() const;
  void leave_out_strangers(Answer& answer);

  const kernel::SystemCalls* calls_;
  Target target_;             // the filesystem's
  KnownMounts known_mounts_;  // of a target in no mount table
  std::optional<SuperblockWatch> watch_;
  std::string node_;  // of the device; empty: none
};

// Whether the device of an unmounted filesystem is free, by one exclusive open. kUnknown: it has none, or may not be
// opened.
[[nodiscard]] kernel::Exclusive device_state(const kernel::SystemCalls& calls, const Target& target);

}  // namespace unmoor::gone
