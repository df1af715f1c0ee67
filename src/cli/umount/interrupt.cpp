// SPDX-License-Identifier: MIT
#include "cli/umount/interrupt.h"

#include <csignal>

namespace unmoor::cli::umount {
namespace {

std::atomic<bool> noted{false};
static_assert(std::atomic<bool>::is_always_lock_free);

}  // namespace

void note_interrupts() {
  struct sigaction action{};
  action.sa_handler = [](int) { noted.store(true, std::memory_order_relaxed); };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int signal : {SIGINT, SIGTERM}) {
    struct sigaction before{};
    if (sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_IGN) continue;  // nohup, background jobs
    sigaction(signal, &action, nullptr);
  }
}

bool interrupted() {
  return noted.load(std::memory_order_relaxed);
}

const std::atomic<bool>* interrupt_flag() {
  return &noted;
}

}  // namespace unmoor::cli::umount
