// SPDX-License-Identifier: MIT
// A loop device on a file of the test's own, with an ext4 on it. Put back on destruction.
#pragma once

#include <cstdlib>
#include <fcntl.h>
#include <linux/loop.h>
#include <string>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace unmoor::test {

// Nothing of ours stays open: the device's cache is dropped with its last user, as for anybody.
class LoopDevice {
 public:
  // `image` is made, `megabytes` large.
  explicit LoopDevice(const std::string& image, int megabytes = 16) {
    const int backing = open(image.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (backing < 0 || ftruncate(backing, static_cast<off_t>(megabytes) << 20) != 0) return;
    fstat(backing, &image_);
    const int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
    for (int attempt = 0; control >= 0 && attempt < 50 && !ready_; ++attempt) {
      const int number = ioctl(control, LOOP_CTL_GET_FREE);
      if (number < 0) break;
      node_ = "/dev/loop" + std::to_string(number);
      const int fd = open(node_.c_str(), O_RDWR | O_CLOEXEC);
      ready_ = fd >= 0 && ioctl(fd, LOOP_SET_FD, backing) == 0;  // or somebody else was faster
      if (fd >= 0) close(fd);
    }
    if (control >= 0) close(control);
    close(backing);
  }
  LoopDevice(const LoopDevice&) = delete;
  LoopDevice& operator=(const LoopDevice&) = delete;
  ~LoopDevice() {
    const int fd = ready_ ? open(node_.c_str(), O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0) return;
    // A test may have freed it, and somebody else have it by now.
    loop_info64 now{};
    if (ioctl(fd, LOOP_GET_STATUS64, &now) == 0 && now.lo_inode == image_.st_ino && now.lo_device == image_.st_dev)
      ioctl(fd, LOOP_CLR_FD);
    close(fd);
  }

  [[nodiscard]] bool ready() const { return ready_; }
  [[nodiscard]] const std::string& node() const { return node_; }
  [[nodiscard]] bool make_ext4() const {
    return std::system(("mkfs.ext4 -q -F " + node_ + " >/dev/null 2>&1").c_str()) == 0;
  }

 private:
  struct ::stat image_{};
  bool ready_ = false;
  std::string node_;
};

}  // namespace unmoor::test
