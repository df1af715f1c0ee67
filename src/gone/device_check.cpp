// SPDX-License-Identifier: MIT
#include "gone/device_check.h"

#include <algorithm>
#include <thread>

namespace unmoor::gone {

kernel::Exclusive wait_until_free(const kernel::SystemCalls& calls, const std::string& node,
                                  Clock::time_point deadline) {
  for (int number = 0; number < kExclusiveTries; ++number) {
    const Clock::time_point now = Clock::now();
    if (number > 0 && now >= deadline) break;
    if (number > 0) std::this_thread::sleep_until(std::min(now + pause_before_try(number), deadline));
    const kernel::Exclusive answer = kernel::try_exclusive(calls, node);
    if (answer != kernel::Exclusive::kInUse) return answer;
  }
  return kernel::Exclusive::kInUse;
}

}  // namespace unmoor::gone
