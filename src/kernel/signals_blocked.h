// SPDX-License-Identifier: MIT
// All signals blocked for a while, also the two that glibc keeps for itself: nothing runs in the caller's name while
// another process shares its memory, or is made. They stay pending and are delivered at the end.
#pragma once

#include <csignal>
#include <cstdint>

#include "kernel/system_calls.h"

namespace unmoor::kernel {

class SignalsBlocked {
 public:
  explicit SignalsBlocked(const SystemCalls& calls) {
    const std::uint64_t all = ~std::uint64_t{0};
    blocked_ = calls.call(SYS_rt_sigprocmask, SIG_SETMASK, SystemCalls::pointer(&all), SystemCalls::pointer(&before_),
                          sizeof before_) == 0;
  }
  ~SignalsBlocked() {
    if (!blocked_) return;
    static_cast<void>(
        SystemCalls::real().call(SYS_rt_sigprocmask, SIG_SETMASK, SystemCalls::pointer(&before_), 0, sizeof before_));
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

  [[nodiscard]] explicit operator bool() const { return blocked_; }

 private:
  std::uint64_t before_ = 0;
  bool blocked_ = false;
};

}  // namespace unmoor::kernel
