// SPDX-License-Identifier: MIT
// The threads that read in a domain: one record a thread, found again without a lock.
//
// A record belongs to one thread at a time and is never freed while its registry lives, so a grace period may scan,
// and sleep on, a record whose thread has just ended. The registry is shared by the domain and every thread that
// read in it: a thread may outlive the domain, and the domain a thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "sync/mutex.h"

namespace unmoor::rcu {

// Two cache lines, because processors fetch them in pairs.
struct alignas(128) Reader {
  // 0 outside every read section, else the number of the newest grace period that had begun when it was entered.
  std::atomic<std::uint64_t> state{0};
  // 1 while a grace period sleeps on this word until `state` changes.
  std::atomic<std::uint32_t> waited{0};
  // Depth of nested read sections. Only the owning thread touches it.
  std::uint32_t nesting = 0;
  // Constant once the record can be found.
  Reader* next = nullptr;
  // Guarded by ReaderRegistry::mutex_.
  bool owned = false;
};

// Wakes the grace periods that sleep on `reader`; its state has just changed.
void wake_grace_periods(Reader& reader) noexcept;

class ReaderRegistry {
 public:
  ReaderRegistry() = default;
  ReaderRegistry(const ReaderRegistry&) = delete;
  ReaderRegistry& operator=(const ReaderRegistry&) = delete;
  ~ReaderRegistry();

  // A record for the calling thread: a free one, or a new one. Null when there is no memory.
  [[nodiscard]] Reader* acquire() noexcept;
  // The thread ends, or the caller is the child of a fork and the thread is not there. Ends its read section.
  void release(Reader& reader) noexcept;

  // Every record there ever was, newest first; a record that is added later is not seen.
  [[nodiscard]] const Reader* first() const noexcept { return first_.load(std::memory_order_acquire); }
  [[nodiscard]] Reader* first() noexcept { return first_.load(std::memory_order_acquire); }

  [[nodiscard]] std::uint64_t owned() const noexcept;

  // The domain is gone: threads may forget this registry.
  void close() noexcept { closed_.store(true, std::memory_order_release); }
  [[nodiscard]] bool closed() const noexcept { return closed_.load(std::memory_order_acquire); }

  // Around fork(): the child keeps `survivor` (may be null) and frees every other record.
  void before_fork() noexcept UNMOOR_ACQUIRE(mutex_) { mutex_.lock(); }
  void after_fork_in_parent() noexcept UNMOOR_RELEASE(mutex_) { mutex_.unlock(); }
  void after_fork_in_child(const Reader* survivor) noexcept UNMOOR_RELEASE(mutex_);

 private:
  mutable Mutex mutex_;
  std::atomic<Reader*> first_{nullptr};
  std::atomic<bool> closed_{false};
};

// The record that this thread used last, and of which domain. Domain numbers start at 1 and are never used twice.
struct CachedReader {
  std::uint64_t domain = 0;
  Reader* reader = nullptr;
};
// initial-exec: one instruction, also inside a shared library; it takes 16 bytes of the static TLS block.
inline constinit thread_local CachedReader cached_reader [[gnu::tls_model("initial-exec")]];

// This thread's record in the domain number `domain`: null if it has none.
[[nodiscard]] Reader* find_reader(std::uint64_t domain) noexcept;
// The same, registering the thread at its first call. Ends the process, with a message, when there is no memory.
[[nodiscard]] Reader& find_or_register_reader(std::uint64_t domain,
                                              const std::shared_ptr<ReaderRegistry>& registry) noexcept;

// Ends the process: misuse that cannot be reported to the caller.
[[noreturn]] void fatal(const char* what) noexcept;

}  // namespace unmoor::rcu
