// SPDX-License-Identifier: MIT
// membarrier(2), the heavy half of the asymmetric barrier that lets readers go without a fence. Behind a seam, so
// that a test can take it away.
#pragma once

#include <linux/membarrier.h>

namespace unmoor::rcu {

class Membarrier {
 public:
  Membarrier() = default;
  Membarrier(const Membarrier&) = delete;
  Membarrier& operator=(const Membarrier&) = delete;
  virtual ~Membarrier() = default;

  // One membarrier(command, 0): the kernel's answer, or a negative errno.
  [[nodiscard]] virtual long call(int command) const noexcept;

  // The process-wide real one; stateless.
  static const Membarrier& real() noexcept;
};

}  // namespace unmoor::rcu
