// SPDX-License-Identifier: MIT
// Everything that shares one set of locks: namespaces, the mounts in them, and the pool that releases what was
// unmounted.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <unmoor/tree/detached_tree.h>
#include <unmoor/tree/error.h>
#include <unmoor/tree/export.h>
#include <unmoor/tree/filesystem.h>
#include <unmoor/tree/grace_period.h>
#include <unmoor/tree/mount.h>
#include <unmoor/tree/mount_namespace.h>
#include <unmoor/tree/release_policy.h>

namespace unmoor::tree {

struct UniverseOptions {
  ReleasePolicy policy = ReleasePolicy::kOnDemand;
  rcu::Modes grace_periods = {};  // Linux's default: expedited, as umount asks for them
  // Linux's fs.mount-max: mounts in one namespace; more is ENOSPC.
  std::uint32_t mount_max = 100000;
  // Mounts that may wait for their release, and freed mounts that may wait for a grace period; an umount that goes past
  // it returns only when the backlog is below it again: back-pressure, not memory growth.
  std::size_t backlog_max = 131072;
  // Shards of each mount's reference count: a power of two, at most 64. 16 bytes each.
  unsigned count_shards = 8;
};

// A mount that was unmounted and is not yet gone.
struct PendingRelease {
  enum class State : std::uint8_t {
    kHeld,          // somebody pins it
    kWaiting,       // for a grace period
    kShuttingDown,  // its filesystem's shutdown() is running or about to
  };
  MountId id{};
  std::string filesystem;
  State state{};
  std::chrono::steady_clock::time_point since;  // when it was taken out of the tree
};

struct Stats {
  std::uint64_t mounts = 0;    // alive now, detached ones included
  std::uint64_t detached = 0;  // of these: unmounted, not yet released
  std::uint64_t backlog = 0;   // of these: their release waits for the pool
  std::uint64_t backlog_peak = 0;
  std::uint64_t unretired = 0;          // mounts whose memory waits for a grace period
  std::uint64_t released_idle = 0;      // released without a grace period: nobody else held them
  std::uint64_t released_after_gp = 0;  // released by the umounter or the pool after a grace period
  std::uint64_t released_by_holder = 0;
  std::uint64_t taken_over = 0;     // of these: before the pool came to it
  std::uint64_t grace_periods = 0;  // that an unmounter or the pool waited for
  std::uint64_t shutdowns = 0;
  std::uint64_t failed_shutdowns = 0;  // shutdown() threw
  std::uint64_t throttled = 0;         // umounts that waited for the backlog
  std::uint64_t walk_fallbacks = 0;    // lookups that gave up RCU-walk and took the mount lock
};

using Deadline = std::chrono::steady_clock::time_point;

// A handle; keep it for as long as namespaces are made. Namespaces, trees and pins keep what they need alive.
//
// Thread-safety: everything, from any thread. Inside a visit() callback, and inside a shutdown() that this Universe
// called, every operation that changes the tree, and wait() and drain(), answer EDEADLK.
// fork: in the child every operation answers ESTALE, and destructors do nothing; the parent is not disturbed.
class UNMOOR_TREE_API Universe {
 public:
  // Errors: EINVAL (count_shards, backlog_max), ENOMEM.
  [[nodiscard]] static Result<Universe> create(const UniverseOptions& options = {});

  Universe(Universe&&) noexcept;
  Universe& operator=(Universe&&) noexcept;
  ~Universe();

  // A namespace whose root is `root`, mounted, as in Linux, on an empty directory that nobody can unmount. That is what
  // lets pivot_root() replace it. Errors: ENOMEM, ESTALE, EBUSY.
  [[nodiscard]] Result<MountNamespace> create_namespace(std::shared_ptr<Filesystem> root, std::string_view name,
                                                        const MountOptions& options = {});
  // fsmount(2): a mount that is nowhere yet. Errors: ENOMEM, ESTALE, EBUSY.
  [[nodiscard]] Result<DetachedTree> create_detached(std::shared_ptr<Filesystem> filesystem, std::string_view name,
                                                     const MountOptions& options = {});

  // What was unmounted and is not gone.
  [[nodiscard]] std::vector<PendingRelease> pending() const;
  // Until mount `id` is gone: released, and if it was the last of its filesystem, that one's shutdown() has returned.
  // Errors: EBUSY (it is still mounted), ENOENT (never existed), ETIMEDOUT, EDEADLK, ESTALE.
  [[nodiscard]] Result<void> wait(MountId id, Deadline deadline) const;
  // Until everything that was unmounted before the call is gone. Errors: ETIMEDOUT, EDEADLK, ESTALE.
  [[nodiscard]] Result<void> drain(Deadline deadline) const;
  [[nodiscard]] Stats stats() const;

 private:
  explicit Universe(struct Core* core) : core_(core) {}
  struct Core* core_;
};

}  // namespace unmoor::tree
