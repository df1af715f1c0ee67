// SPDX-License-Identifier: MIT
// v4: a lazy unmount hands everything to the pool, which waits for the grace period. Fast and leak-free, but a
// filesystem that nobody holds is not shut down when the call returns; that is what broke programs in linux-next.
#include "tree/put.h"
#include "tree/release.h"

namespace unmoor::tree {
namespace {

class Deferred : public Release {
 public:
  void release(Core& core, Unmounted& batch) override {
    if (batch.origin != Origin::kLazy) {
      release_after_grace_period(core, batch.mounts);
      return;
    }
    {
      MutexLock lock(core.mount_lock.mutex);
      core.pool.defer(batch.mounts);
    }
    core.pool.kick();
  }
};

}  // namespace

std::unique_ptr<Release> make_deferred() {
  return std::make_unique<Deferred>();
}

}  // namespace unmoor::tree
