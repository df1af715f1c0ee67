// SPDX-License-Identifier: MIT
// One line on the terminal while a filesystem's data is being written.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "gone/target.h"
#include "kernel/system_calls.h"

namespace unmoor::cli {

// "128 MiB left, 54 MiB/s, 2 s", or less where the kernel tells less. `whole_machine`: the figure is a sum over all
// devices, and so an upper bound.
[[nodiscard]] std::string progress_text(std::optional<std::uint64_t> left, bool whole_machine, double bytes_per_second);

class Progress {
 public:
  Progress(const kernel::SystemCalls& calls, const gone::Target& target) : calls_(calls), target_(target) {}
  [[nodiscard]] static bool is_wanted();  // stderr is a terminal
  void show();
  void clear();

 private:
  const kernel::SystemCalls& calls_;
  const gone::Target& target_;
  bool shown_ = false;
  std::optional<std::uint64_t> written_{};
  std::chrono::steady_clock::time_point at_{};
  double rate_ = 0;  // smoothed, bytes per second
};

}  // namespace unmoor::cli
