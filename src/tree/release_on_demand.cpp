// SPDX-License-Identifier: MIT
// Waits only for mounts that somebody else holds. The mount lock is taken once for the batch; a mount whose count is
// exactly 1 is ours alone (put.h has the argument) and is released at once; the others need a grace period, which a
// lazy unmount leaves to the pool. The same path for plain, lazy and teardown.
#include "tree/put.h"
#include "tree/release.h"

namespace unmoor::tree {
namespace {

class OnDemand : public Release {
 public:
  void release(Core& core, Unmounted& batch) override {
    Doomed idle;
    List<Mount, WorkTag> held;
    std::uint64_t released = 0;
    {
      MutexLock lock(core.mount_lock.mutex);
      const auto ahead = [](const Mount* mount) {
        mount->counts.prefetch();
        prefetch(mount->superblock);
      };
      // The analysis does not see that the lock is held where consume() calls this.
      consume(batch.mounts, ahead, [&](Mount* mount) UNMOOR_NO_THREAD_SAFETY_ANALYSIS {
        if (mount->counts.sum() == 1) {
          mount->counts.put();
          doom(core, mount, idle);
          ++released;
        } else {
          held.push_back(mount);
        }
      });
      // In the same hold: a holder that lets go between would find neither us nor the pool.
      if (batch.origin == Origin::kLazy && !held.empty()) {
        core.pool.defer(held);
        idle.deferred = true;
      }
    }
    count(core.counters.released_idle, released);
    finish(core, idle);
    if (!held.empty()) release_after_grace_period(core, held);
  }
  [[nodiscard]] bool on_demand() const override { return true; }
};

}  // namespace

std::unique_ptr<Release> make_on_demand() {
  return std::make_unique<OnDemand>();
}

}  // namespace unmoor::tree
