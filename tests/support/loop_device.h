// SPDX-License-Identifier: MIT
// A loop device on a file of the test's own, with an ext4 on it. Put back on destruction.
#pragma once

#include <cstdlib>
#include <fcntl.h>
#include <linux/loop.h>
#include <string>
#include <sys/ioctl.h>
#include <unistd.h>

namespace unmoor::test {

class LoopDevice {
 public:
  // `image` is made, `megabytes` large.
  explicit LoopDevice(const std::string& image, int megabytes = 16) {
    const int backing = open(image.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (backing < 0 || ftruncate(backing, static_cast<off_t>(megabytes) << 20) != 0) return;
    const int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
    for (int attempt = 0; control >= 0 && attempt < 50 && fd_ < 0; ++attempt) {
      const int number = ioctl(control, LOOP_CTL_GET_FREE);
      if (number < 0) break;
      node_ = "/dev/loop" + std::to_string(number);
      const int fd = open(node_.c_str(), O_RDWR | O_CLOEXEC);
      if (fd >= 0 && ioctl(fd, LOOP_SET_FD, backing) == 0) {
        fd_ = fd;
      } else if (fd >= 0) {
        close(fd);  // somebody else was faster
      }
    }
    if (control >= 0) close(control);
    close(backing);
  }
  LoopDevice(const LoopDevice&) = delete;
  LoopDevice& operator=(const LoopDevice&) = delete;
  ~LoopDevice() {
    if (fd_ < 0) return;
    ioctl(fd_, LOOP_CLR_FD);
    close(fd_);
  }

  [[nodiscard]] bool ready() const { return fd_ >= 0; }
  [[nodiscard]] const std::string& node() const { return node_; }
  [[nodiscard]] bool make_ext4() const {
    return std::system(("mkfs.ext4 -q -F " + node_ + " >/dev/null 2>&1").c_str()) == 0;
  }

 private:
  int fd_ = -1;
  std::string node_;
};

}  // namespace unmoor::test
