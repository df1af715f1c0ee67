// SPDX-License-Identifier: MIT
// A line on the terminal for an unmount that takes over a second. As umount(8): none.
#pragma once

#include <chrono>
#include <cstddef>

#include "cli/umount/options.h"

namespace unmoor::cli::umount {

class Progress {
 public:
  Progress(const Options& options, std::size_t total);
  ~Progress();  // takes the line away
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void tell(std::size_t done);

 private:
  std::chrono::steady_clock::time_point begun_;
  std::size_t total_;
  bool wanted_;
  bool shown_ = false;
};

}  // namespace unmoor::cli::umount
