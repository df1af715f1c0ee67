// SPDX-License-Identifier: MIT
#include "measure/interrupt.h"

#include <array>
#include <atomic>
#include <csignal>

namespace unmoor::measure {
namespace {

constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

std::atomic<int> noted{0};
static_assert(std::atomic<int>::is_always_lock_free);
std::array<struct sigaction, kSignals.size()> before;

void note(int signal) {
  noted.store(signal, std::memory_order_relaxed);
}

}  // namespace

InterruptsNoted::InterruptsNoted() {
  noted = 0;
  struct sigaction action{};
  action.sa_handler = note;  // without SA_RESTART: a wait for a command comes back
  for (std::size_t i = 0; i < kSignals.size(); ++i)
    sigaction(kSignals[i], &action, &before[i]);
}

InterruptsNoted::~InterruptsNoted() {
  for (std::size_t i = 0; i < kSignals.size(); ++i)
    sigaction(kSignals[i], &before[i], nullptr);
}

int interrupted() {
  return noted.load(std::memory_order_relaxed);
}

}  // namespace unmoor::measure
