// SPDX-License-Identifier: MIT
// The grace periods of one domain: numbering, sharing, kinds, and the scan of the readers. The argument why they are
// right stands at the top of rcu.h.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "rcu/membarrier.h"
#include "rcu/reader.h"
#include "sync/mutex.h"
#include "unmoor/tree/grace_period.h"

namespace unmoor::rcu {

class GracePeriods {
 public:
  GracePeriods(const Modes& modes, Boot boot, const Membarrier& membarrier);
  GracePeriods(const GracePeriods&) = delete;
  GracePeriods& operator=(const GracePeriods&) = delete;
  ~GracePeriods();

  // Whether readers must fence for themselves, because the kernel has no membarrier for us. Constant.
  [[nodiscard]] bool readers_fence() const noexcept { return readers_fence_; }
  // The number of the newest grace period that has begun; at least 1.
  [[nodiscard]] const std::atomic<std::uint64_t>& newest() const noexcept { return newest_; }
  [[nodiscard]] const std::shared_ptr<ReaderRegistry>& readers() const noexcept { return readers_; }
  [[nodiscard]] const Modes& modes() const noexcept { return modes_; }

  // The number of a grace period that has not begun: when it is over, everyone who reads now has finished.
  [[nodiscard]] std::uint64_t target() const noexcept;
  [[nodiscard]] bool is_over(std::uint64_t target) const noexcept {
    return completed_.load(std::memory_order_acquire) >= target;
  }
  // Returns when `target` is over; runs grace periods itself, or shares one that another thread runs.
  void wait(std::uint64_t target, Kind asked) noexcept;

  void end_boot() noexcept;
  void add_to(Statistics& statistics) const noexcept;

  // Ends the process if a thread reads in the domain, which is about to end.
  void close() noexcept;

  // Around fork(). In the child nobody runs a grace period, and only `survivor` may be reading.
  // Not analysed: the readers' mutex, taken in between, has no name that both classes know.
  void before_fork() noexcept UNMOOR_NO_THREAD_SAFETY_ANALYSIS;
  void after_fork_in_parent() noexcept UNMOOR_NO_THREAD_SAFETY_ANALYSIS;
  void after_fork_in_child(const Reader* survivor) noexcept UNMOOR_NO_THREAD_SAFETY_ANALYSIS;

 private:
  [[nodiscard]] bool is_running(Kind kind) const UNMOOR_REQUIRES(mutex_) {
    return running_[static_cast<std::size_t>(kind)];
  }
  void set_running(Kind kind, bool running) UNMOOR_REQUIRES(mutex_) {
    running_[static_cast<std::size_t>(kind)] = running;
  }
  // Every thread of the process has passed a full barrier between call and return.
  void heavy_barrier(Kind kind) const noexcept;
  void wait_for_readers(std::uint64_t number, Kind kind) noexcept;
  void sleep_on(Reader& reader, std::uint64_t number, Kind kind) noexcept;

  const Modes modes_;
  const Membarrier& membarrier_;
  const std::shared_ptr<ReaderRegistry> readers_;
  bool readers_fence_ = false;

  // On a line of its own: readers load it, a grace period writes it once.
  alignas(128) std::atomic<std::uint64_t> newest_{1};
  // Written under mutex_.
  alignas(128) std::atomic<std::uint64_t> completed_{1};

  mutable Mutex mutex_;
  CondVar changed_;
  Boot boot_ UNMOOR_GUARDED_BY(mutex_);
  std::array<bool, 2> running_ UNMOOR_GUARDED_BY(mutex_){};  // one of each kind at a time
  std::array<std::uint64_t, 2> runs_ UNMOOR_GUARDED_BY(mutex_){};
  std::uint64_t waits_ UNMOOR_GUARDED_BY(mutex_) = 0;
};

}  // namespace unmoor::rcu
