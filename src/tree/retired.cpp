// SPDX-License-Identifier: MIT
#include "tree/retired.h"

#include <utility>

namespace unmoor::tree {

void RetireList::retire(Retired* item) {
  RetiredChain chain;
  chain.add(item);
  retire(chain);
}

void RetireList::retire(const RetiredChain& chain) {
  if (chain.count == 0) return;
  size_.fetch_add(chain.count, std::memory_order_relaxed);
  {
    MutexLock lock(mutex_);
    chain.last->next_retired = arriving_;
    arriving_ = chain.first;
    if (in_flight_) return;
    in_flight_ = true;
    waiting_ = std::exchange(arriving_, nullptr);
  }
  rcu::rcu_call(domain_, ticket_, &grace_period_over);
}

void RetireList::free_waiting() {
  Retired* item = nullptr;
  {
    MutexLock lock(mutex_);
    item = std::exchange(waiting_, nullptr);
  }
  std::size_t freed = 0;
  while (item != nullptr) {
    Retired* const next = item->next_retired;
    free_(context_, item);
    item = next;
    ++freed;
  }
  bool again = false;
  {
    MutexLock lock(mutex_);
    size_.fetch_sub(freed, std::memory_order_relaxed);
    freed_.notify_all();
    again = arriving_ != nullptr;
    if (again) {
      waiting_ = std::exchange(arriving_, nullptr);
    } else {
      in_flight_ = false;
    }
  }
  if (again) rcu::rcu_call(domain_, ticket_, &grace_period_over);
}

void RetireList::wait_below(std::size_t limit) {
  MutexLock lock(mutex_);
  while (size_.load(std::memory_order_relaxed) > limit)
    freed_.wait(mutex_);
}

}  // namespace unmoor::tree
