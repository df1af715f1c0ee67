// SPDX-License-Identifier: MIT
// A loop device over an unnamed file: both are gone once nothing has the device open or mounted, whatever became of us
// (loop(4), LO_FLAGS_AUTOCLEAR).
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "kernel/error.h"
#include "kernel/unique_fd.h"

namespace unmoor::measure {

class LoopDevice {
 public:
  // The file lies in $TMPDIR, else /var/tmp. Errors: those of open(2) on /dev/loop-control and /dev/loopN (EACCES: not
  // root), of O_TMPFILE and ftruncate(2), and of the loop driver.
  [[nodiscard]] static Result<LoopDevice> make(std::uint64_t bytes);

  [[nodiscard]] const std::string& path() const { return path_; }
  // Waits until no filesystem has the device (an exclusive open succeeds). ETIMEDOUT after `limit`, EINTR after a
  // signal.
  [[nodiscard]] Result<void> wait_until_free(std::chrono::seconds limit) const;

 private:
  LoopDevice() = default;

  std::string path_;
  kernel::UniqueFd device_;
};

}  // namespace unmoor::measure
