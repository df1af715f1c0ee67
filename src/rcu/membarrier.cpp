// SPDX-License-Identifier: MIT
#include "rcu/membarrier.h"

#include <cerrno>
#include <sys/syscall.h>
#include <unistd.h>

#include "sync/never_destroyed.h"

namespace unmoor::rcu {

long Membarrier::call(int command) const noexcept {
  const int saved = errno;
  const long result = ::syscall(SYS_membarrier, command, 0, 0);
  const long answer = result == -1 ? -errno : result;
  errno = saved;
  return answer;
}

const Membarrier& Membarrier::real() noexcept {
  static constinit NeverDestroyed<Membarrier> instance;  // a thread of a pool may outlive exit(3)'s destructors
  return *instance;
}

}  // namespace unmoor::rcu
