// SPDX-License-Identifier: MIT
// The last word on a filesystem with a device: can the device be opened exclusively?
#pragma once

#include <array>
#include <chrono>

#include "gone/superblock_watch.h"
#include "kernel/device_node.h"

namespace unmoor::gone {

// Pauses between at most kExclusiveTries tries: a tight loop of exclusive opens makes other people's mounts of the
// device fail. They grow by half, so that a free device is noticed within half of the time it took to become free; all
// together make 3.3 s.
inline constexpr int kExclusiveTries = 20;
[[nodiscard]] constexpr std::chrono::microseconds pause_before_try(int number) {
  double pause = 0.5;  // milliseconds
  for (int i = 1; i < number; ++i)
    pause *= 1.5;
  return std::chrono::microseconds(number == 0 ? 0 : static_cast<long>(pause * 1000));
}

// Tries until the device is free, the deadline has passed or the tries are used up. kInUse: still busy then.
[[nodiscard]] kernel::Exclusive wait_until_free(const kernel::SystemCalls& calls, const std::string& node,
                                                Clock::time_point deadline);

}  // namespace unmoor::gone
