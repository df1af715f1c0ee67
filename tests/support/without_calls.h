// SPDX-License-Identifier: MIT
// A seam that fails every call of some numbers, as an old kernel or a seccomp filter does.
#pragma once

#include <set>

#include "kernel/system_calls.h"

namespace unmoor::test {

class WithoutCalls : public kernel::SystemCalls {
 public:
  WithoutCalls(std::set<long> numbers, int code) : numbers_(std::move(numbers)), code_(code) {}
  [[nodiscard]] long call(long number, long a, long b, long c, long d, long e, long f) const noexcept override {
    return numbers_.contains(number) ? -code_ : SystemCalls::call(number, a, b, c, d, e, f);
  }

 private:
  std::set<long> numbers_;
  int code_;
};

}  // namespace unmoor::test
