// SPDX-License-Identifier: MIT
// How long after its device has become free does `unmoor wait` return?
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "kernel/error.h"
#include "kernel/unique_fd.h"
#include "measure/loop_device.h"

namespace unmoor::cli::bench {

// ext4 on a loop device, detached and held; the last holder lets go while `unmoor wait` waits.
class WaitForDevice {
 public:
  // Errors: those of LoopDevice::make and of mkfs.ext4.
  [[nodiscard]] static Result<std::shared_ptr<WaitForDevice>> make(std::string unmoor, std::uint64_t dirty_bytes);
  ~WaitForDevice();
  WaitForDevice(const WaitForDevice&) = delete;
  WaitForDevice& operator=(const WaitForDevice&) = delete;

  // Mounts, writes what is to be dirty, opens a file and detaches the mount.
  [[nodiscard]] Result<void> prepare();
  // Seconds from the first exclusive open of the device that succeeds, tried every 20 us by a control, to the end of
  // the program; not below 1 us. EPROTO when the program ended more than 1 ms before the device was free.
  [[nodiscard]] Result<double> run();
  [[nodiscard]] Result<void> clean_up();

 private:
  WaitForDevice(std::string unmoor, std::uint64_t dirty_bytes, measure::LoopDevice loop)
      : unmoor_(std::move(unmoor)), dirty_bytes_(dirty_bytes), loop_(std::move(loop)) {}
  [[nodiscard]] Result<pid_t> start_waiting();

  std::string unmoor_;
  std::uint64_t dirty_bytes_;
  measure::LoopDevice loop_;
  kernel::UniqueFd holder_;
};

}  // namespace unmoor::cli::bench
