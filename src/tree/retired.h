// SPDX-License-Identifier: MIT
// Memory that walkers may still read. What is retired is freed after a grace period that began later, by the reclaiming
// thread of src/rcu. Retiring never allocates and never waits: whatever was retired during a grace period waits
// together for the next one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "rcu/rcu.h"
#include "sync/mutex.h"

namespace unmoor::tree {

// Base of what can be retired.
struct Retired {
  enum class What : std::uint8_t { kMount, kPlace, kNs };
  Retired* next_retired = nullptr;
  What what = What::kMount;
};

// Some of them, linked by next_retired.
struct RetiredChain {
  Retired* first = nullptr;
  Retired* last = nullptr;
  std::size_t count = 0;

  void add(Retired* item) {
    item->next_retired = first;
    first = item;
    if (last == nullptr) last = item;
    ++count;
  }
};

class RetireList {
 public:
  using Free = void (*)(void* context, Retired* item);
  RetireList(rcu::rcu_domain& domain, Free free, void* context) : domain_(domain), free_(free), context_(context) {
    ticket_.list = this;
  }
  RetireList(const RetireList&) = delete;
  RetireList& operator=(const RetireList&) = delete;

  void retire(Retired* item);
  void retire(const RetiredChain& chain);
  // Retired and not yet freed.
  [[nodiscard]] std::size_t size() const { return size_.load(std::memory_order_relaxed); }
  // Until size() is at most `limit`. Not inside a read section.
  void wait_below(std::size_t limit);

 private:
  // One ticket is in flight at a time; a batch that arrives meanwhile gets a grace period of its own afterwards.
  struct Ticket : rcu::rcu_head {
    RetireList* list = nullptr;
  };
  static void grace_period_over(rcu::rcu_head* head) noexcept { static_cast<Ticket*>(head)->list->free_waiting(); }
  void free_waiting();

  rcu::rcu_domain& domain_;
  const Free free_;
  void* const context_;
  std::atomic<std::size_t> size_{0};
  Mutex mutex_;  // a leaf
  CondVar freed_;
  Retired* arriving_ UNMOOR_GUARDED_BY(mutex_) = nullptr;
  Retired* waiting_ UNMOOR_GUARDED_BY(mutex_) = nullptr;  // for the ticket's grace period
  bool in_flight_ UNMOOR_GUARDED_BY(mutex_) = false;
  Ticket ticket_;
};

}  // namespace unmoor::tree
