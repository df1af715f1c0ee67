// SPDX-License-Identifier: MIT
#include "tree/core.h"

#include <cerrno>

#include "tree/put.h"
#include "tree/thread_frames.h"

namespace unmoor::tree {
namespace {

[[nodiscard]] std::unique_ptr<Release> make_policy(ReleasePolicy policy) {
  switch (policy) {
    case ReleasePolicy::kSynchronous:
      return make_synchronous();
    case ReleasePolicy::kSkipWait:
      return make_skip_wait();
    case ReleasePolicy::kDeferred:
      return make_deferred();
    case ReleasePolicy::kOnDemand:
      break;
  }
  return make_on_demand();
}

// After a grace period, on the domain's thread. The places and the superblock that the mount held go with it: whoever
// could reach them through it has finished.
void free_retired(void* context, Retired* item) {
  Core& core = *static_cast<Core*>(context);
  switch (item->what) {
    case Retired::What::kPlace:
      free_place(static_cast<Place*>(item));
      return;
    case Retired::What::kNs:
      delete static_cast<Ns*>(item);
      return;
    case Retired::What::kMount:
      break;
  }
  auto* const mount = static_cast<Mount*>(item);
  if (core.places.put(mount->root)) free_place(mount->root);
  core.counts.free(mount->counts);
  mount->superblock->unref();
  delete mount;
}

}  // namespace

Core::Core(const UniverseOptions& o)
    : options(o),
      domain(rcu::rcu_domain::Options{.modes = o.grace_periods}),
      counts(o.count_shards),
      retired(domain, &free_retired, this),
      policy(make_policy(o.policy)),
      pool(*this) {}

Core::~Core() {
  retired.wait_below(0);
  rcu::rcu_barrier(domain);  // the callback that freed the last has returned
}

void Core::unref(std::uint64_t less) {
  if (references.fetch_sub(less, std::memory_order_acq_rel) != less) return;
  if (pool.on_pool_thread()) {
    ReleasePool::adopt(this);
  } else {
    delete this;
  }
}

bool Core::capable(std::uint64_t who, std::uint64_t owner) const {
  while (owner != who && owner != 0)
    owner = owner_parents[owner];
  return owner == who;
}

void Core::synchronize() {
  count(counters.grace_periods);
  rcu::rcu_synchronize_expedited(domain);  // what Linux's umount asks for; the modes decide what it gets
}

Result<void> Core::may_wait() const {
  if (fork_guard.forked()) return std::unexpected(Error{ESTALE, "a tree does not live in the child of a fork"});
  if (ThreadFrame::inside(*this)) {
    return std::unexpected(Error{EDEADLK, "inside a visit() callback or a shutdown() of the same universe"});
  }
  return {};
}

}  // namespace unmoor::tree
