// SPDX-License-Identifier: MIT
// Hands out the numbers 0..n-1, each once, and each only when those that it waits for are done.
//
// Thread-safety: any thread may take and report.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "detach/many/independence.h"
#include "sync/mutex.h"

namespace unmoor::detach {

class Schedule {
 public:
  // `stop` may be null; once it is true nothing more is handed out.
  Schedule(Waits waits, const std::atomic<bool>* stop);

  // Blocks while nothing is ready but something may become so. Nothing: all is handed out, or stopped.
  [[nodiscard]] std::optional<std::uint32_t> take();
  void done(std::uint32_t number);

  // Waits until everything that was handed out is done and nothing more will be; false when the deadline passed first.
  [[nodiscard]] bool wait_until_over(std::chrono::steady_clock::time_point deadline);
  [[nodiscard]] std::size_t done_count();

 private:
  [[nodiscard]] bool stopped() const { return stop_ != nullptr && stop_->load(std::memory_order_relaxed); }
  [[nodiscard]] bool over() UNMOOR_REQUIRES(mutex_) {
    return running_ == 0 && (done_ == waits_.count.size() || stopped());
  }

  const std::atomic<bool>* stop_;
  Mutex mutex_;
  CondVar more_;  // something became ready, or nothing ever will
  CondVar over_;  // nothing is running, and nothing more will be
  Waits waits_ UNMOOR_GUARDED_BY(mutex_);
  std::vector<std::uint32_t> ready_ UNMOOR_GUARDED_BY(mutex_);  // handed out from next_ on
  std::size_t next_ UNMOOR_GUARDED_BY(mutex_) = 0;
  std::size_t running_ UNMOOR_GUARDED_BY(mutex_) = 0;
  std::size_t done_ UNMOOR_GUARDED_BY(mutex_) = 0;
};

}  // namespace unmoor::detach
