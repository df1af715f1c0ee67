// SPDX-License-Identifier: MIT
#include "rcu/rcu.h"

#include "rcu/fork_handlers.h"

namespace unmoor::rcu {

namespace {

std::uint64_t next_domain_number() noexcept {
  static constinit std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

rcu_domain::rcu_domain(const Options& options)
    : number_(next_domain_number()),
      grace_periods_(options.modes, options.boot, *options.membarrier),
      readers_fence_(grace_periods_.readers_fence()),
      callbacks_(grace_periods_) {
  ForkHandlers::instance().add(*this);
}

rcu_domain::~rcu_domain() {
  if (!reading()) rcu_barrier(*this);
  grace_periods_.close();
  ForkHandlers::instance().remove(*this);
}

Statistics rcu_domain::statistics() const noexcept {
  Statistics all;
  grace_periods_.add_to(all);
  callbacks_.add_to(all);
  return all;
}

void rcu_domain::synchronize(std::uint64_t target, Kind asked) noexcept {
  if (reading()) fatal("to wait for a grace period inside a read section is to wait for oneself");
  grace_periods_.wait(target, asked);
}

void rcu_synchronize(rcu_domain& domain) noexcept {
  domain.synchronize(domain.grace_periods_.target(), Kind::normal);
}

void rcu_synchronize_expedited(rcu_domain& domain) noexcept {
  domain.synchronize(domain.grace_periods_.target(), Kind::expedited);
}

rcu_state rcu_get_state(const rcu_domain& domain) noexcept {
  return {.target = domain.grace_periods_.target()};
}

bool rcu_poll_state(const rcu_domain& domain, rcu_state state) noexcept {
  return domain.grace_periods_.is_over(state.target);
}

void rcu_cond_synchronize(rcu_domain& domain, rcu_state state) noexcept {
  if (!rcu_poll_state(domain, state)) domain.synchronize(state.target, Kind::normal);
}

void rcu_cond_synchronize_expedited(rcu_domain& domain, rcu_state state) noexcept {
  if (!rcu_poll_state(domain, state)) domain.synchronize(state.target, Kind::expedited);
}

void rcu_call(rcu_domain& domain, rcu_head& head, void (*function)(rcu_head*) noexcept) noexcept {
  head.function = function;
  domain.callbacks_.call(head);
}

void rcu_barrier(rcu_domain& domain) noexcept {
  if (domain.reading()) fatal("rcu_barrier inside a read section would wait for itself");
  domain.callbacks_.barrier();
}

}  // namespace unmoor::rcu
