// SPDX-License-Identifier: MIT
// std::mutex and std::condition_variable with the annotations that clang's thread-safety analysis needs
// (libstdc++'s own carry none). Same semantics, no more state.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "sync/thread_annotations.h"

namespace unmoor {

class UNMOOR_CAPABILITY("mutex") Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock() UNMOOR_ACQUIRE() { mutex_.lock(); }
  void unlock() UNMOOR_RELEASE() { mutex_.unlock(); }
  bool try_lock() UNMOOR_TRY_ACQUIRE(true) { return mutex_.try_lock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

// Holds a Mutex for a scope; may give it up and take it back inside that scope.
class UNMOOR_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) UNMOOR_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~MutexLock() UNMOOR_RELEASE() {
    if (held_) mutex_.unlock();
  }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void unlock() UNMOOR_RELEASE() {
    mutex_.unlock();
    held_ = false;
  }
  void lock() UNMOOR_ACQUIRE() {
    mutex_.lock();
    held_ = true;
  }

 private:
  Mutex& mutex_;
  bool held_ = true;
};

// A condition variable for Mutex. Waits may wake spuriously: callers loop on their condition.
class CondVar {
 public:
  void wait(Mutex& mutex) UNMOOR_REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }
  // False when the deadline passed first.
  bool wait_until(Mutex& mutex, std::chrono::steady_clock::time_point deadline) UNMOOR_REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    const bool in_time = condition_.wait_until(lock, deadline) == std::cv_status::no_timeout;
    lock.release();
    return in_time;
  }
  void notify_one() { condition_.notify_one(); }
  void notify_all() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace unmoor
