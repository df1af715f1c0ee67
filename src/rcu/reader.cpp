// SPDX-License-Identifier: MIT
#include "rcu/reader.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <linux/futex.h>
#include <new>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

#include <climits>

namespace unmoor::rcu {

void fatal(const char* what) noexcept {
  // write and not stdio: the process may be in any state.
  static constexpr char kPrefix[] = "unmoor rcu: ";
  [[maybe_unused]] ssize_t ignored = ::write(STDERR_FILENO, kPrefix, sizeof kPrefix - 1);
  ignored = ::write(STDERR_FILENO, what, std::strlen(what));
  ignored = ::write(STDERR_FILENO, "\n", 1);
  std::abort();
}

void wake_grace_periods(Reader& reader) noexcept {
  reader.waited.store(0, std::memory_order_relaxed);
  ::syscall(SYS_futex, &reader.waited, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

ReaderRegistry::~ReaderRegistry() {
  for (Reader* reader = first(); reader != nullptr;) {
    Reader* next = reader->next;
    delete reader;
    reader = next;
  }
}

Reader* ReaderRegistry::acquire() noexcept {
  const MutexLock lock(mutex_);
  for (Reader* reader = first(); reader != nullptr; reader = reader->next) {
    if (!reader->owned) {
      reader->owned = true;
      return reader;
    }
  }
  auto* reader = new (std::nothrow) Reader;
  if (reader == nullptr) return nullptr;
  reader->owned = true;
  reader->next = first_.load(std::memory_order_relaxed);
  first_.store(reader, std::memory_order_release);
  return reader;
}

void ReaderRegistry::release(Reader& reader) noexcept {
  const MutexLock lock(mutex_);
  reader.nesting = 0;
  reader.state.store(0, std::memory_order_seq_cst);
  if (reader.waited.load(std::memory_order_seq_cst) != 0) wake_grace_periods(reader);
  reader.owned = false;
}

std::uint64_t ReaderRegistry::owned() const noexcept {
  const MutexLock lock(mutex_);
  std::uint64_t count = 0;
  for (const Reader* reader = first(); reader != nullptr; reader = reader->next)
    count += reader->owned ? 1 : 0;
  return count;
}

void ReaderRegistry::after_fork_in_child(const Reader* survivor) noexcept {
  for (Reader* reader = first(); reader != nullptr; reader = reader->next) {
    if (reader == survivor) continue;
    reader->nesting = 0;
    reader->state.store(0, std::memory_order_relaxed);
    reader->owned = false;
  }
  mutex_.unlock();
}

namespace {

struct Registration {
  std::uint64_t domain = 0;
  Reader* reader = nullptr;
  std::shared_ptr<ReaderRegistry> registry;
};

using Registrations = std::vector<Registration>;

constinit thread_local Registrations* registrations = nullptr;

// A pthread key and not a thread_local with a destructor: keys are destroyed after every C++ thread_local, whose
// destructors may still read, and once more if they were set again.
void leave_all_domains(void* all) noexcept {
  auto* leaving = static_cast<Registrations*>(all);
  registrations = nullptr;
  cached_reader = {};
  for (const Registration& one : *leaving)
    one.registry->release(*one.reader);
  delete leaving;
}

pthread_key_t exit_key() noexcept {
  static const pthread_key_t key = [] {
    pthread_key_t made = 0;
    if (pthread_key_create(&made, leave_all_domains) != 0) fatal("no thread-specific key left");
    return made;
  }();
  return key;
}

Reader& register_reader(std::uint64_t domain, const std::shared_ptr<ReaderRegistry>& registry) {
  if (registrations == nullptr) {
    auto fresh = std::make_unique<Registrations>();
    if (pthread_setspecific(exit_key(), fresh.get()) != 0) throw std::bad_alloc();
    registrations = fresh.release();
  }
  std::erase_if(*registrations, [](const Registration& one) { return one.registry->closed(); });
  registrations->reserve(registrations->size() + 1);
  Reader* reader = registry->acquire();
  if (reader == nullptr) throw std::bad_alloc();
  registrations->push_back({.domain = domain, .reader = reader, .registry = registry});
  return *reader;
}

}  // namespace

Reader* find_reader(std::uint64_t domain) noexcept {
  if (registrations == nullptr) return nullptr;
  const auto found = std::find_if(registrations->begin(), registrations->end(),
                                  [domain](const Registration& one) { return one.domain == domain; });
  return found == registrations->end() ? nullptr : found->reader;
}

Reader& find_or_register_reader(std::uint64_t domain, const std::shared_ptr<ReaderRegistry>& registry) noexcept {
  Reader* reader = find_reader(domain);
  if (reader == nullptr) {
    try {
      reader = &register_reader(domain, registry);
    } catch (const std::bad_alloc&) {
      fatal("no memory to register a reading thread");
    }
  }
  cached_reader = {.domain = domain, .reader = reader};
  return *reader;
}

}  // namespace unmoor::rcu
