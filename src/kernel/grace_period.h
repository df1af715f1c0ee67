// SPDX-License-Identifier: MIT
// Which kind of RCU grace period an unmount waits for on this machine.
#pragma once

#include <cstdint>

#include "kernel/system_calls.h"

namespace unmoor::kernel {

enum class GracePeriod : std::uint8_t {
  kExpedited,  // microseconds: the kernel's default for umount
  kNormal,     // milliseconds: /sys/kernel/rcu_normal is 1, as PREEMPT_RT sets it once booted
  kUnknown,    // no /sys here
};

// Read anew at each call: the knob can change at any time.
[[nodiscard]] GracePeriod grace_period(const SystemCalls& calls) noexcept;

}  // namespace unmoor::kernel
