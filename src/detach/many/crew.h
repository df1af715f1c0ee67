// SPDX-License-Identifier: MIT
// Threads that do nothing but wait in a system call: small stacks, all signals blocked (they are for the caller), and
// as many as can be had.
#pragma once

#include <functional>
#include <pthread.h>
#include <vector>

namespace unmoor::detach {

class Crew {
 public:
  // Starts up to `size` threads that run `work` once each. It may be called by all of them at the same time.
  Crew(unsigned size, std::function<void()> work);
  // Waits for all of them.
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  // How many there are: fewer than asked for, even none, where a limit stands against it.
  [[nodiscard]] std::size_t size() const { return threads_.size(); }

 private:
  std::function<void()> work_;
  std::vector<pthread_t> threads_;
};

}  // namespace unmoor::detach
