// SPDX-License-Identifier: MIT
// A membarrier that counts its commands, and refuses what a test tells it to.
#pragma once

#include <atomic>
#include <cerrno>

#include "rcu/membarrier.h"

namespace unmoor::rcu::test {

class FakeMembarrier : public Membarrier {
 public:
  // Commands (a mask) that answer `error` from now on.
  void refuse(int commands, int error) {
    error_ = error;
    refused_ = commands;
  }

  [[nodiscard]] long call(int command) const noexcept override {
    // MEMBARRIER_CMD_QUERY is 0, in no mask: bit 30 stands for it.
    if ((refused_ & (command == MEMBARRIER_CMD_QUERY ? kQuery : command)) != 0) return -error_;
    if (command == MEMBARRIER_CMD_GLOBAL) ++global_;
    if (command == MEMBARRIER_CMD_PRIVATE_EXPEDITED) ++expedited_;
    return Membarrier::call(command);
  }

  static constexpr int kQuery = 1 << 30;

  [[nodiscard]] int global() const { return global_; }
  [[nodiscard]] int expedited() const { return expedited_; }

 private:
  std::atomic<int> refused_{0};
  std::atomic<int> error_{ENOSYS};
  mutable std::atomic<int> global_{0};
  mutable std::atomic<int> expedited_{0};
};

}  // namespace unmoor::rcu::test
