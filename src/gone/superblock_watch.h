// SPDX-License-Identifier: MIT
// Learns when a filesystem has shut down: an inotify watch for IN_UNMOUNT, which the kernel raises when the superblock
// goes, however long after the last mount of it was detached. The watch pins neither a mount nor the filesystem.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "kernel/error.h"
#include "kernel/mount_table.h"
#include "kernel/system_calls.h"
#include "kernel/unique_fd.h"

namespace unmoor::gone {

using Clock = std::chrono::steady_clock;

class SuperblockWatch {
 public:
  // `path` leads to any file of the filesystem; a magic link of /proc does as well, also into a detached mount. Given
  // up after `patience` when a server is asked and does not answer. Errors: those of inotify_add_watch(2), ETIMEDOUT.
  [[nodiscard]] static Result<SuperblockWatch> arm(const kernel::SystemCalls& calls, const std::string& path,
                                                   std::chrono::milliseconds patience = std::chrono::milliseconds(200));

  // Becomes readable when the filesystem shuts down.
  [[nodiscard]] int fd() const { return inotify_.get(); }
  // The number of the filesystem that is watched: `path` may have led to another one than it was taken for, when its
  // descriptor was closed and its number given away meanwhile. None when the file is going, or /proc does not say.
  [[nodiscard]] std::optional<kernel::DeviceNumber> watched(const kernel::SystemCalls& calls) const;
  // Waits until then, or until the deadline. The event comes before the last write to the device: ask the device next.
  // False before the deadline when the watch is lost.
  [[nodiscard]] bool fired_by(const kernel::SystemCalls& calls, Clock::time_point deadline);
  // The watched file itself was deleted, and its last descriptor closed: nothing will be told of the filesystem.
  [[nodiscard]] bool lost() const { return lost_; }

 private:
  explicit SuperblockWatch(kernel::UniqueFd inotify) : inotify_(std::move(inotify)) {}
  kernel::UniqueFd inotify_;
  bool fired_ = false;
  bool lost_ = false;
};

}  // namespace unmoor::gone
