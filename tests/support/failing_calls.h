// SPDX-License-Identifier: MIT
// A seam whose n-th call fails: loop n from 1 until `reached()` stays below n, and every failure has been tried.
#pragma once

#include <atomic>
#include <new>
#include <sys/mman.h>

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

// The same, counting the calls of all processes that are forked while it lives.
class SharedFailingCalls {
 public:
  SharedFailingCalls(int nth, int code)
      : memory_(mmap(nullptr, sizeof(FailingCalls), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)),
        calls_(new(memory_) FailingCalls(nth, code)) {}
  SharedFailingCalls(const SharedFailingCalls&) = delete;
  SharedFailingCalls& operator=(const SharedFailingCalls&) = delete;
  ~SharedFailingCalls() { munmap(memory_, sizeof(FailingCalls)); }

  [[nodiscard]] const FailingCalls& operator*() const { return *calls_; }
  [[nodiscard]] const FailingCalls* operator->() const { return calls_; }

 private:
  void* memory_;
  FailingCalls* calls_;
};

}  // namespace unmoor::test
