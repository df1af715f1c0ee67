// SPDX-License-Identifier: MIT
#include "kernel/system_calls.h"

#include <cerrno>
#include <sched.h>
#include <unistd.h>

#include "sync/never_destroyed.h"

namespace unmoor::kernel {

long SystemCalls::call(long number, long a, long b, long c, long d, long e, long f) const noexcept {
  const int saved = errno;
  const long result = ::syscall(number, a, b, c, d, e, f);
  if (result != -1) return result;
  const long error = -errno;
  errno = saved;
  return error;
}

long SystemCalls::clone_sharing_memory(int (*run)(void*), void* stack_top, int flags, void* argument,
                                       int* pidfd) const noexcept {
  const int saved = errno;
  const int result = ::clone(run, stack_top, flags | CLONE_VM, argument, pidfd);
  if (result != -1) return result;
  const long error = -errno;
  errno = saved;
  return error;
}

const SystemCalls& SystemCalls::real() noexcept {
  static constinit NeverDestroyed<SystemCalls> instance;  // a thread of a pool may outlive exit(3)'s destructors
  return *instance;
}

}  // namespace unmoor::kernel
