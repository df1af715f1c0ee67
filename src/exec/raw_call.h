// SPDX-License-Identifier: MIT
// System calls made inside somebody else's program: errno is left as it was, nothing is a cancellation point, a failure
// is the negative errno.
#pragma once

#include <cerrno>
#include <sys/syscall.h>
#include <unistd.h>

namespace unmoor::exec {

inline long raw_call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0) {
  const int saved = errno;
  const long result = ::syscall(number, a, b, c, d, e);
  if (result != -1) return result;
  const long error = -errno;
  errno = saved;
  return error;
}

// What the kernel reads, and what it fills in: a compiler takes a pointer to const for a promise that it is read.
inline long address(const void* pointer) {
  return reinterpret_cast<long>(pointer);
}
inline long address(void* pointer) {
  return reinterpret_cast<long>(pointer);
}

// A descriptor for the length of a scope.
class RawFd {
 public:
  explicit RawFd(long fd) : fd_(static_cast<int>(fd)) {}
  RawFd(const RawFd&) = delete;
  RawFd& operator=(const RawFd&) = delete;
  ~RawFd() { reset(); }

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] explicit operator bool() const { return fd_ >= 0; }
  [[nodiscard]] int release() {
    const int fd = fd_;
    fd_ = -1;
    return fd;
  }
  void reset(long fd = -1) {
    if (fd_ >= 0) static_cast<void>(raw_call(SYS_close, fd_));
    fd_ = static_cast<int>(fd);
  }

 private:
  int fd_;
};

}  // namespace unmoor::exec
