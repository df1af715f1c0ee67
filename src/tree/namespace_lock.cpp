// SPDX-License-Identifier: MIT
#include "tree/namespace_lock.h"

#include "tree/ns_life.h"

namespace unmoor::tree {

NamespaceLock::~NamespaceLock() {
  core.namespace_lock.unlock();
  if (emptied != nullptr) retire_ns(emptied);
  if (made_read_only != nullptr) made_read_only->make_read_only();
  drop_places(core, dropped);
  if (unmounted.mounts.empty()) return;
  const bool umount = unmounted.origin != Origin::kTeardown;
  core.policy->release(core, unmounted);
  if (umount) core.pool.throttle();
}

}  // namespace unmoor::tree
