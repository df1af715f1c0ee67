// SPDX-License-Identifier: MIT
#include "rcu/callbacks.h"

#include <csignal>
#include <new>
#include <utility>

namespace unmoor::rcu {

Callbacks::~Callbacks() {
  MutexLock lock(mutex_);
  while (reclaimed_ != retired_) {
    lock.unlock();
    barrier();
    lock.lock();
  }
  if (!has_thread_) return;
  ending_ = true;
  arrived_.notify_all();
  const pthread_t thread = thread_;
  lock.unlock();
  pthread_join(thread, nullptr);
}

void Callbacks::call(rcu_head& head) noexcept {
  const MutexLock lock(mutex_);
  head.next = nullptr;
  *waiting_end_ = &head;
  waiting_end_ = &head.next;
  ++retired_;
  if (!has_thread_) start_thread();
  arrived_.notify_one();
}

void Callbacks::barrier() noexcept {
  if (in_callback()) fatal("rcu_barrier inside a callback would wait for itself");
  MutexLock lock(mutex_);
  const std::uint64_t target = retired_;
  while (reclaimed_ < target) {
    if (has_thread_ || batch_taken_) {
      progressed_.wait(mutex_);
    } else {
      run_batch();
    }
  }
}

bool Callbacks::in_callback() const noexcept {
  const MutexLock lock(mutex_);
  return callback_runs_ && pthread_equal(runner_, pthread_self()) != 0;
}

void Callbacks::add_to(Statistics& statistics) const noexcept {
  const MutexLock lock(mutex_);
  statistics.retired += retired_;
  statistics.reclaimed += reclaimed_;
}

void Callbacks::run_batch() {
  batch_taken_ = true;
  runner_ = pthread_self();
  batch_ = std::exchange(waiting_, nullptr);
  waiting_end_ = &waiting_;
  mutex_.unlock();
  // The target is asked for after the batch was taken: whoever arrives from now on gets the next grace period.
  grace_periods_.wait(grace_periods_.target(), Kind::normal);
  mutex_.lock();
  while (batch_ != nullptr) {
    rcu_head* head = std::exchange(batch_, batch_->next);
    callback_runs_ = true;
    mutex_.unlock();
    head->function(head);
    mutex_.lock();
    callback_runs_ = false;
    ++reclaimed_;
  }
  batch_taken_ = false;
  progressed_.notify_all();
  arrived_.notify_one();
}

void* Callbacks::thread_main(void* self) noexcept {
  pthread_setname_np(pthread_self(), "unmoor-rcu");
  auto& callbacks = *static_cast<Callbacks*>(self);
  MutexLock lock(callbacks.mutex_);
  while (!callbacks.ending_) {
    if (callbacks.waiting_ == nullptr || callbacks.batch_taken_) {
      callbacks.arrived_.wait(callbacks.mutex_);
    } else {
      callbacks.run_batch();
    }
  }
  return nullptr;
}

void Callbacks::start_thread() noexcept {
  // Signals are the program's: none is delivered to a thread that it does not know.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  has_thread_ = pthread_create(&thread_, nullptr, thread_main, this) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Callbacks::after_fork_in_child() noexcept {
  new (&arrived_) CondVar;
  new (&progressed_) CondVar;
  if (has_thread_ && pthread_equal(thread_, pthread_self()) == 0) has_thread_ = false;
  if (batch_taken_ && pthread_equal(runner_, pthread_self()) == 0) {
    // Its runner is not here: what it had begun counts as run, the rest waits for a new grace period.
    if (std::exchange(callback_runs_, false)) ++reclaimed_;
    rcu_head** end = &batch_;
    while (*end != nullptr)
      end = &(*end)->next;
    *end = waiting_;
    if (waiting_ == nullptr) waiting_end_ = end == &batch_ ? &waiting_ : end;
    waiting_ = std::exchange(batch_, nullptr);
    batch_taken_ = false;
  }
  mutex_.unlock();
}

}  // namespace unmoor::rcu
