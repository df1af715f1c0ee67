// SPDX-License-Identifier: MIT
// What fork() needs: a list of the domains of the process. Nothing else in src/rcu is shared between domains.
#pragma once

#include <vector>

#include "sync/mutex.h"
#include "sync/never_destroyed.h"

namespace unmoor::rcu {

class rcu_domain;

class ForkHandlers {
 public:
  static ForkHandlers& instance() noexcept;

  // Throws std::bad_alloc.
  void add(rcu_domain& domain);
  void remove(rcu_domain& domain) noexcept;

 private:
  friend class NeverDestroyed<ForkHandlers>;
  ForkHandlers();
  // Lock order: mutex_, then of each domain its callbacks, its grace periods, its readers.
  static void prepare() noexcept;
  static void parent() noexcept;
  static void child() noexcept;

  Mutex mutex_;
  std::vector<rcu_domain*> domains_ UNMOOR_GUARDED_BY(mutex_);
};

}  // namespace unmoor::rcu
