// SPDX-License-Identifier: MIT
#include "rcu/fork_handlers.h"

#include <algorithm>
#include <pthread.h>

#include "rcu/rcu.h"

namespace unmoor::rcu {

ForkHandlers::ForkHandlers() {
  if (pthread_atfork(prepare, parent, child) != 0) fatal("no memory for pthread_atfork");
}

ForkHandlers& ForkHandlers::instance() noexcept {
  static NeverDestroyed<ForkHandlers> handlers;  // a domain may be of static storage duration
  return *handlers;
}

void ForkHandlers::add(rcu_domain& domain) {
  const MutexLock lock(mutex_);
  domains_.push_back(&domain);
}

void ForkHandlers::remove(rcu_domain& domain) noexcept {
  const MutexLock lock(mutex_);
  std::erase(domains_, &domain);
}

void ForkHandlers::prepare() noexcept UNMOOR_NO_THREAD_SAFETY_ANALYSIS {
  ForkHandlers& self = instance();
  self.mutex_.lock();
  for (rcu_domain* domain : self.domains_) {
    domain->callbacks_.before_fork();
    domain->grace_periods_.before_fork();
  }
}

void ForkHandlers::parent() noexcept UNMOOR_NO_THREAD_SAFETY_ANALYSIS {
  ForkHandlers& self = instance();
  for (rcu_domain* domain : self.domains_) {
    domain->grace_periods_.after_fork_in_parent();
    domain->callbacks_.after_fork_in_parent();
  }
  self.mutex_.unlock();
}

void ForkHandlers::child() noexcept UNMOOR_NO_THREAD_SAFETY_ANALYSIS {
  ForkHandlers& self = instance();
  for (rcu_domain* domain : self.domains_) {
    domain->grace_periods_.after_fork_in_child(find_reader(domain->number_));
    domain->callbacks_.after_fork_in_child();
  }
  self.mutex_.unlock();
}

}  // namespace unmoor::rcu
