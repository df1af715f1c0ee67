// SPDX-License-Identifier: MIT
// Callbacks that run after a grace period, in the order in which they were handed in, one at a time, on a thread of
// the domain that starts with the first one. (If it cannot be started, they wait for rcu_barrier() or the end of the
// domain, and each further callback tries again.)
#pragma once

#include <cstdint>
#include <pthread.h>

#include "rcu/grace_periods.h"
#include "sync/mutex.h"

namespace unmoor::rcu {

// What is to be called, inside the object that it is about: handing it in needs no memory.
struct rcu_head {
  rcu_head* next = nullptr;
  void (*function)(rcu_head*) noexcept = nullptr;
};

class Callbacks {
 public:
  explicit Callbacks(GracePeriods& grace_periods) : grace_periods_(grace_periods) {}
  Callbacks(const Callbacks&) = delete;
  Callbacks& operator=(const Callbacks&) = delete;
  // Runs all that are left, and those that they hand in.
  ~Callbacks();

  // Never waits; any context, also inside a read section or a callback.
  void call(rcu_head& head) noexcept;
  // Returns when every callback that was handed in before has run.
  void barrier() noexcept;
  // The calling thread is inside a callback of this domain.
  [[nodiscard]] bool in_callback() const noexcept;
  void add_to(Statistics& statistics) const noexcept;

  void before_fork() noexcept UNMOOR_ACQUIRE(mutex_) { mutex_.lock(); }
  void after_fork_in_parent() noexcept UNMOOR_RELEASE(mutex_) { mutex_.unlock(); }
  void after_fork_in_child() noexcept UNMOOR_RELEASE(mutex_);

 private:
  static void* thread_main(void* self) noexcept;
  void start_thread() noexcept UNMOOR_REQUIRES(mutex_);
  // Takes all that wait, lets a grace period pass, and runs them.
  void run_batch() UNMOOR_REQUIRES(mutex_);

  GracePeriods& grace_periods_;
  mutable Mutex mutex_;
  CondVar arrived_;
  CondVar progressed_;
  rcu_head* waiting_ UNMOOR_GUARDED_BY(mutex_) = nullptr;
  rcu_head** waiting_end_ UNMOOR_GUARDED_BY(mutex_) = &waiting_;
  // The rest of the batch that is being run, so that the child of a fork has it.
  rcu_head* batch_ UNMOOR_GUARDED_BY(mutex_) = nullptr;
  bool batch_taken_ UNMOOR_GUARDED_BY(mutex_) = false;
  bool callback_runs_ UNMOOR_GUARDED_BY(mutex_) = false;
  pthread_t runner_ UNMOOR_GUARDED_BY(mutex_){};  // who runs the batch, while batch_taken_
  std::uint64_t retired_ UNMOOR_GUARDED_BY(mutex_) = 0;
  std::uint64_t reclaimed_ UNMOOR_GUARDED_BY(mutex_) = 0;
  pthread_t thread_ UNMOOR_GUARDED_BY(mutex_){};
  bool has_thread_ UNMOOR_GUARDED_BY(mutex_) = false;
  bool ending_ UNMOOR_GUARDED_BY(mutex_) = false;
};

}  // namespace unmoor::rcu
