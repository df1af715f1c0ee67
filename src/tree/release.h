// SPDX-License-Identifier: MIT
// The seam of the unlock path: what happens to a batch of mounts that has just left the tree. One small file for each
// policy (release_*.cpp).
#pragma once

#include <cstdint>
#include <memory>

#include <unmoor/tree/release_policy.h>

#include "tree/list.h"
#include "tree/mount.h"

namespace unmoor::tree {

struct Core;

// Who unmounted.
enum class Origin : std::uint8_t {
  kUmount,    // plain: has promised that everything idle is shut down at return
  kLazy,      // MNT_DETACH: the only one that a policy may defer
  kTeardown,  // death of a namespace, a detached tree, a failed attach: never deferred
};

// Each mount carries the reference that the tree had on it, and Mount::ns is null already.
struct Unmounted {
  List<Mount, WorkTag> mounts;
  Origin origin = Origin::kTeardown;
};

class Release {
 public:
  Release() = default;
  Release(const Release&) = delete;
  Release& operator=(const Release&) = delete;
  virtual ~Release() = default;

  // Drops the reference of each mount. No lock is held; may wait for a grace period and run shutdown().
  virtual void release(Core& core, Unmounted& batch) = 0;
  // Whether a mount whose parent has just been doomed, or whose last holder lets go, may be released at once if the
  // count is exactly 1 (on-demand), or only as the policy's grace periods say.
  [[nodiscard]] virtual bool on_demand() const { return false; }
};

// The two ends that the policies share: drop the reference of each mount, after a grace period, or now.
void release_after_grace_period(Core& core, List<Mount, WorkTag>& mounts);
void release_now(Core& core, List<Mount, WorkTag>& mounts);

[[nodiscard]] std::unique_ptr<Release> make_synchronous();
[[nodiscard]] std::unique_ptr<Release> make_skip_wait();
[[nodiscard]] std::unique_ptr<Release> make_deferred();
[[nodiscard]] std::unique_ptr<Release> make_on_demand();

}  // namespace unmoor::tree
