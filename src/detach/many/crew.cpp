// SPDX-License-Identifier: MIT
#include "detach/many/crew.h"

#include <csignal>

namespace unmoor::detach {
namespace {

constexpr std::size_t kStackSize = 128UL * 1024;

void* run(void* work) {
  (*static_cast<std::function<void()>*>(work))();
  return nullptr;
}

}  // namespace

Crew::Crew(unsigned size, std::function<void()> work) : work_(std::move(work)) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return;
  pthread_attr_setstacksize(&attributes, kStackSize);
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  threads_.reserve(size);
  for (unsigned i = 0; i < size; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, &attributes, run, &work_) != 0) break;
    threads_.push_back(thread);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
}

Crew::~Crew() {
  for (const pthread_t thread : threads_)
    pthread_join(thread, nullptr);
}

}  // namespace unmoor::detach
