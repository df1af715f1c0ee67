// SPDX-License-Identifier: MIT
#include "tree/namespace_lock.h"

#include "tree/ns_life.h"

namespace unmoor::tree {

NamespaceLock::~NamespaceLock() {
  core.namespace_lock.unlock();
  if (emptied != nullptr) retire_ns(emptied);
  drop_places(core, dropped);
  if (unmounted.mounts.empty()) return;
  const bool umount = unmounted.origin != Origin::kTeardown;
  core.policy->release(core, unmounted);
  if (umount) core.pool.throttle();
}

}  // namespace unmoor::tree
