// SPDX-License-Identifier: MIT
// Linux as it is: one grace period for the whole batch, then every reference is dropped, in the caller.
#include "tree/put.h"
#include "tree/release.h"

namespace unmoor::tree {
namespace {

class Synchronous : public Release {
 public:
  void release(Core& core, Unmounted& batch) override { release_after_grace_period(core, batch.mounts); }
};

}  // namespace

void release_after_grace_period(Core& core, List<Mount, WorkTag>& mounts) {
  core.synchronize();
  release_now(core, mounts);
}

void release_now(Core& core, List<Mount, WorkTag>& mounts) {
  Doomed doomed;
  std::uint64_t released = 0;
  {
    MutexLock lock(core.mount_lock.mutex);
    while (Mount* const mount = mounts.pop_front()) {
      put_locked(core, mount, doomed);
      ++released;
    }
  }
  count(core.counters.released_after_gp, released);
  finish(core, doomed);
}

std::unique_ptr<Release> make_synchronous() {
  return std::make_unique<Synchronous>();
}

}  // namespace unmoor::tree
