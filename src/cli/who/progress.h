// SPDX-License-Identifier: MIT
// One line on the terminal while a filesystem's data is being written.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>

#include "kernel/mount_table.h"
#include "kernel/system_calls.h"
#include "sync/mutex.h"

namespace unmoor::cli {

// "128 MiB left, 54 MiB/s, 2 s", or less where the kernel tells less. `whole_machine`: the figure is a sum over all
// devices, and so an upper bound.
[[nodiscard]] std::string progress_text(std::optional<std::uint64_t> left, bool whole_machine, double bytes_per_second);

// Shows it about five times a second, on a thread of its own: what is waited for may be a system call. Shows nothing
// where stderr is no terminal.
class WriteProgress {
 public:
  WriteProgress(const kernel::SystemCalls& calls, std::optional<kernel::DeviceNumber> device);
  WriteProgress(const WriteProgress&) = delete;
  WriteProgress& operator=(const WriteProgress&) = delete;
  ~WriteProgress();  // the line is gone

 private:
  void work();
  void show();

  const kernel::SystemCalls& calls_;
  const std::optional<kernel::DeviceNumber> device_;
  bool shown_ = false;
  std::optional<std::uint64_t> written_{};
  std::chrono::steady_clock::time_point at_{};
  double rate_ = 0;  // smoothed, bytes per second
  Mutex mutex_;
  CondVar changed_;
  bool over_ UNMOOR_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace unmoor::cli
