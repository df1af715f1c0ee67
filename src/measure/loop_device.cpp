// SPDX-License-Identifier: MIT
#include "measure/loop_device.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <thread>
#include <unistd.h>

#include "measure/interrupt.h"

namespace unmoor::measure {
namespace {

using kernel::UniqueFd;

constexpr int kTries = 32;  // somebody else may take the number that LOOP_CTL_GET_FREE named

// Attaches with one call where the kernel has it (5.8), with two before.
int attach(int device, int file) {
  loop_config config{};
  config.fd = static_cast<std::uint32_t>(file);
  config.info.lo_flags = LO_FLAGS_AUTOCLEAR;
  if (ioctl(device, LOOP_CONFIGURE, &config) == 0) return 0;
  if (errno != EINVAL && errno != ENOTTY) return errno;
  if (ioctl(device, LOOP_SET_FD, file) != 0) return errno;
  loop_info64 info{};
  info.lo_flags = LO_FLAGS_AUTOCLEAR;
  if (ioctl(device, LOOP_SET_STATUS64, &info) == 0) return 0;
  const int error = errno;
  ioctl(device, LOOP_CLR_FD);
  return error;
}

}  // namespace

Result<LoopDevice> LoopDevice::make(std::uint64_t bytes) {
  const char* const chosen = std::getenv("TMPDIR");
  const std::string directory = chosen != nullptr && *chosen == '/' ? chosen : "/var/tmp";
  const UniqueFd file(open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!file) return fail(errno, "open", "an unnamed file in " + directory);
  if (ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) return fail(errno, "ftruncate", "the loop device's file");
  const UniqueFd control(open("/dev/loop-control", O_RDWR | O_CLOEXEC));
  if (!control) return fail(errno, "open", "/dev/loop-control");
  for (int i = 0; i < kTries; ++i) {
    const int number = ioctl(control.get(), LOOP_CTL_GET_FREE);
    if (number < 0) return fail(errno, "LOOP_CTL_GET_FREE", "/dev/loop-control");
    LoopDevice loop;
    loop.path_ = "/dev/loop" + std::to_string(number);
    loop.device_.reset(open(loop.path_.c_str(), O_RDWR | O_CLOEXEC));
    if (!loop.device_) return fail(errno, "open", loop.path_);
    const int error = attach(loop.device_.get(), file.get());
    if (error == 0) return loop;
    if (error != EBUSY) return fail(error, "attach", loop.path_);
  }
  return fail(EBUSY, "attach", "a loop device");
}

Result<void> LoopDevice::wait_until_free(std::chrono::seconds limit) const {
  using namespace std::chrono_literals;
  const auto deadline = std::chrono::steady_clock::now() + limit;
  std::chrono::milliseconds pause = 2ms;  // an exclusive open makes others' mounts fail: not in a tight loop
  for (;;) {
    const UniqueFd exclusive(open(path_.c_str(), O_RDONLY | O_EXCL | O_CLOEXEC));
    if (exclusive) return {};
    if (errno != EBUSY) return fail(errno, "open", path_);
    if (interrupted() != 0) return fail(EINTR, "wait for", path_);
    if (std::chrono::steady_clock::now() >= deadline) return fail(ETIMEDOUT, "wait for", path_);
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, 50ms);
  }
}

}  // namespace unmoor::measure
