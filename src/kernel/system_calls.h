// SPDX-License-Identifier: MIT
// The seam: every system call that decides something goes through one virtual function, so that a test can
// replace a call, count calls, or make the n-th one fail. No wrapper touches errno: each returns what the kernel
// returned, a value >= 0 or a negative errno.
//
// Thread-safety: the real implementation has no state; use it from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>

namespace unmoor::kernel {

class SystemCalls {
 public:
  SystemCalls() = default;
  SystemCalls(const SystemCalls&) = delete;
  SystemCalls& operator=(const SystemCalls&) = delete;
  virtual ~SystemCalls() = default;

  // One system call by its number.
  [[nodiscard]] virtual long call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
                                  long f = 0) const noexcept;

  // clone(2) of a process that shares this one's memory (CLONE_VM is added): `run` starts on its own stack, which ends
  // at `stack_top`. Apart from call(), because a raw clone would return twice through the seam's own frames. Returns
  // the child's pid; `pidfd` is used with CLONE_PIDFD.
  [[nodiscard]] virtual long clone_sharing_memory(int (*run)(void*), void* stack_top, int flags, void* argument,
                                                  int* pidfd = nullptr) const noexcept;

  // The process-wide real one.
  static const SystemCalls& real() noexcept;

  // Typed names for the calls that more than one place makes. O_CLOEXEC is always added to open.
  long open(const char* path, int flags, mode_t mode = 0) const noexcept { return openat(AT_FDCWD, path, flags, mode); }
  long openat(int directory, const char* path, int flags, mode_t mode = 0) const noexcept {
    return call(SYS_openat, directory, pointer(path), flags | O_CLOEXEC, mode);
  }
  long close(int fd) const noexcept { return call(SYS_close, fd); }
  long read(int fd, void* buffer, std::size_t size) const noexcept {
    return call(SYS_read, fd, pointer(buffer), static_cast<long>(size));
  }
  long umount2(const char* target, int flags) const noexcept { return call(SYS_umount2, pointer(target), flags); }
  long statx(int directory, const char* path, int flags, unsigned mask, struct ::statx* out) const noexcept {
    return call(SYS_statx, directory, pointer(path), flags, mask, pointer(out));
  }
  long readlinkat(int directory, const char* path, char* buffer, std::size_t size) const noexcept {
    return call(SYS_readlinkat, directory, pointer(path), pointer(buffer), static_cast<long>(size));
  }
  long setns(int fd, int type) const noexcept { return call(SYS_setns, fd, type); }

  static long pointer(const volatile void* p) noexcept { return reinterpret_cast<long>(p); }
};

}  // namespace unmoor::kernel
