// SPDX-License-Identifier: MIT
#include "detach/many/schedule.h"

#include <utility>

namespace unmoor::detach {

Schedule::Schedule(Waits waits, const std::atomic<bool>* stop) : stop_(stop), waits_(std::move(waits)) {
  const MutexLock lock(mutex_);
  ready_.reserve(waits_.count.size());
  for (std::uint32_t i = 0; i < waits_.count.size(); ++i) {
    if (waits_.count[i] == 0) ready_.push_back(i);
  }
}

std::optional<std::uint32_t> Schedule::take() {
  const MutexLock lock(mutex_);
  for (;;) {
    if (stopped()) {
      if (over()) over_.notify_all();
      return std::nullopt;
    }
    if (next_ < ready_.size()) {
      ++running_;
      return ready_[next_++];
    }
    // What is not ready waits for something that is running: with nothing running there is nothing to wait for.
    if (running_ == 0) return std::nullopt;
    more_.wait(mutex_);
  }
}

void Schedule::done(std::uint32_t number) {
  const MutexLock lock(mutex_);
  --running_;
  ++done_;
  for (const std::uint32_t follower : waits_.followers[number]) {
    if (--waits_.count[follower] != 0) continue;
    ready_.push_back(follower);
    more_.notify_one();
  }
  if (running_ == 0 || stopped()) more_.notify_all();
  if (over()) over_.notify_all();
}

bool Schedule::wait_until_over(std::chrono::steady_clock::time_point deadline) {
  const MutexLock lock(mutex_);
  while (!over()) {
    if (!over_.wait_until(mutex_, deadline)) return over();
  }
  return true;
}

std::size_t Schedule::done_count() {
  const MutexLock lock(mutex_);
  return done_;
}

}  // namespace unmoor::detach
