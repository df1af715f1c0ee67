// SPDX-License-Identifier: MIT
// What `unmoor umount` says beyond umount(8): why a mount is busy, and whether an unmounted filesystem is really gone.
// umount(8) itself never comes here.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/umount/options.h"
#include "cli/who/progress.h"
#include "gone/wait_gone.h"
#include "kernel/system_calls.h"

namespace unmoor::cli::umount {

// One target, from before its unmount on.
class Aftermath {
 public:
  Aftermath(const kernel::SystemCalls& calls, const Options& options) : calls_(calls), options_(options) {}

  // Remembers the filesystem's device; with --wait, arms the watch.
  void before(const char* target);
  // After success: one exclusive open of the device, or the wait. Returns the exit code.
  [[nodiscard]] int after();

 private:
  void let_go();
  [[nodiscard]] int wait();

  const kernel::SystemCalls& calls_;
  const Options& options_;
  std::string name_;
  std::optional<kernel::DeviceNumber> device_;
  std::optional<gone::GoneWaiter> waiter_;
  std::optional<WriteProgress> progress_;  // the unmount itself writes what is dirty
};

// Who keeps these mounts busy, now that umount(2) has refused them. /proc is read once. Nothing: it cannot be asked.
[[nodiscard]] std::optional<gone::Inquiry> ask_why_busy(const kernel::SystemCalls& calls,
                                                        const std::vector<std::string>& mount_points);
// The first few holders of each, and what to do next, on stderr.
void print_busy(const gone::Inquiry& inquiry);

}  // namespace unmoor::cli::umount
