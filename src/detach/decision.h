// SPDX-License-Identifier: MIT
// The defer policy applied to one target: may the caller return before the grace period? docs/detach.md says why each
// condition is there; the short form is that neither a filesystem nor the helper may be noticed to live on.
#pragma once

#include <vector>

#include "detach/policy.h"
#include "detach/target.h"
#include "kernel/mount_table.h"

namespace unmoor::detach {

struct Decision {
  DeferReason reason = DeferReason::kDeferred;  // kDeferred: it may

  // Filesystems that count and are mounted elsewhere: early is right only while that is so.
  std::vector<kernel::DeviceNumber> must_stay;          // in the caller's namespace or process 1's
  std::vector<kernel::DeviceNumber> must_stay_in_pid1;  // in process 1's
  // Filesystems that count and lose their last mount that can be seen (kElsewhere): somebody else may have returned
  // early from another mount of it a moment ago.
  std::vector<kernel::DeviceNumber> to_settle;

  [[nodiscard]] bool may_defer() const { return reason == DeferReason::kDeferred; }
};

// Condition 5, apart because it needs no target: an early return gains something on this machine.
[[nodiscard]] bool grace_periods_are_slow(const kernel::SystemCalls& calls);

// The other conditions, for kAuto and kElsewhere.
[[nodiscard]] Decision decide(const kernel::SystemCalls& calls, const Target& target, const Options& options);

// For kAlways with Caller::kLibrary, whose helper is killed once the mount is detached: whether something in the tree
// asks a server when it is released, or cannot be told not to.
[[nodiscard]] bool asks_a_server(const kernel::SystemCalls& calls, const Target& target);

// After the detach: what must stay is still mounted.
[[nodiscard]] bool still_holds(const kernel::SystemCalls& calls, const Decision& decision);

// Waits until the superblocks have shut down, as long as another detach of this kind could still hold them; returns
// also when somebody else goes on using one.
void settle(const kernel::SystemCalls& calls, const std::vector<kernel::DeviceNumber>& devices);

}  // namespace unmoor::detach
