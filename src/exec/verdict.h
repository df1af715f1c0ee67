// SPDX-License-Identifier: MIT
// May the program be told "detached" before the grace period is over, and may its mount namespace be kept past its end?
// The policy of docs/detach.md, seen from outside the namespace in which the mount goes: what detach/decision.h asks of
// the caller's own. Both take what harmless.h and propagation.h say.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "detach/policy.h"
#include "detach/propagation.h"
#include "kernel/mount_table.h"
#include "kernel/system_calls.h"

namespace unmoor::exec {

// A tmpfs is harmless while it is small: its memory comes back late.
enum class TmpfsSize {
  kMeasured,  // the asking process is inside the namespace and can look
  kAssumed    // it is outside: what was small when the namespace was first judged is taken to be so still
};

struct Question {
  const kernel::SystemCalls& calls;
  detach::Defer defer = detach::Defer::kElsewhere;
  const kernel::MountTable& inside;  // the namespace in which the mount goes
  int target = 0;                    // its id there; 0: nothing goes, the question is only about keeping the namespace
  int target_fd = -1;                // a descriptor of it: how full a tmpfs is can be asked
  bool own = false;                  // it is the broker's own namespace
  TmpfsSize tmpfs = TmpfsSize::kMeasured;
  // What the unmount takes with it elsewhere, when something it stands on is shared; nothing: that is not known.
  std::optional<std::span<const detach::ReachedMount>> reached = {};
  // The tables of the broker's namespace and of pid 1's, as far as they can be read.
  std::span<const kernel::MountTable> outside;
  std::optional<kernel::DeviceNumber> init_root;  // the filesystem that pid 1 has as its root
};

struct Verdict {
  detach::DeferReason reason = detach::DeferReason::kDeferred;
  bool may_keep = false;  // the namespace may be held past its death
  // Filesystems that count and are mounted elsewhere: early is right only while they are.
  std::vector<kernel::DeviceNumber> must_stay;
};

// All of `devices` are mounted in one of the tables.
[[nodiscard]] bool still_mounted(std::span<const kernel::DeviceNumber> devices,
                                 std::span<const kernel::MountTable> tables);

[[nodiscard]] Verdict judge(const Question& question);

}  // namespace unmoor::exec
