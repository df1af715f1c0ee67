// SPDX-License-Identifier: MIT
// A seam whose n-th call fails: loop n from 1 until `reached()` stays below n, and every failure has been tried.
#pragma once

#include <atomic>

#include "kernel/system_calls.h"

namespace unmoor::test {

class FailingCalls : public kernel::SystemCalls {
 public:
  // The `nth` call (from 1) answers `code` instead of being made.
  FailingCalls(int nth, int code) : nth_(nth), code_(code) {}

  [[nodiscard]] long call(long number, long a, long b, long c, long d, long e, long f) const noexcept override {
    if (number == SYS_close) return SystemCalls::call(number, a, b, c, d, e, f);  // Linux's close always closes
    if (++made_ == nth_) return -code_;
    return SystemCalls::call(number, a, b, c, d, e, f);
  }

  [[nodiscard]] long clone_sharing_memory(int (*run)(void*), void* stack_top, int flags, void* argument,
                                          int* pidfd) const noexcept override {
    if (++made_ == nth_) return -code_;
    return SystemCalls::clone_sharing_memory(run, stack_top, flags, argument, pidfd);
  }

  [[nodiscard]] int made() const { return made_; }

 private:
  int nth_;
  int code_;
  mutable std::atomic<int> made_{0};
};

}  // namespace unmoor::test
