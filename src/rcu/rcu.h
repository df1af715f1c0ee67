// SPDX-License-Identifier: MIT
// Read-copy-update for the tree, in user space. The names are C++26's std::rcu (P2545), so that a reader knows them;
// where we differ: there is no default domain, so the domain is named at each call and comes first; and the kinds of
// grace period are Linux's (include/unmoor/tree/grace_period.h). liburcu has readers as cheap, but one domain for a
// process, and no kinds; bench/ measures both beside this.
//
//   rcu_domain domain;
//   { std::scoped_lock reading(domain);  use(shared.load(std::memory_order_acquire)); }
//   Thing* old = shared.exchange(fresh);  rcu_synchronize(domain);  delete old;
//
// A domain is independent of every other. A thread registers itself at its first lock() and leaves when it ends; a
// thread that ends inside a read section has left it. Read sections nest. lock() and unlock() of one section are
// called by the same thread.
//
// The argument
//
// Reader: enter: state := newest (acquire load, release store); compiler barrier. Leave: state := 0 (release store).
// Grace period: number := ++newest (release); heavy barrier; then wait, for each record, until state (acquire) is 0
// or >= number.
//
// Promise: when a grace period that began after the unlinking of X is over, no thread uses X any more.
//
// The bad schedule: a reader's store of `state` is still in its store buffer while its load of the shared pointer
// has already returned X. The updater unlinks X, scans, sees state 0, frees X; the reader uses it.
// Why it cannot happen: the heavy barrier is between unlinking and scan, and acts as a full fence at some point in
// the reader's program order (membarrier(2); a thread that is not running passes one in the scheduler).
//   - That point is before the store of `state`: then the load of the pointer comes after it, and sees X unlinked.
//   - It is after: then the store is visible to the scan, which waits, unless it reads 0 or >= number.
//     It reads 0: the reader has left since. Its loads come before its release store, which the scan acquired.
//     It reads >= number: either the reader's first section since loaded `newest` after the grace period began, and
//     acquired with it the unlinking; or it has left the older section since, by the case above (each store of
//     `state` is a release, so the last one carries the earlier ones).
// A reader that stores an old number late is waited for in vain: longer, never wrong. Numbers have 64 bits and never
// wrap, which is why one scan is enough where a one-bit phase needs two.
//
// A record that the scan does not see belongs to a thread that registered after the scan began, hence entered after
// the heavy barrier: first case. Records are never freed while the domain lives.
//
// Sharing: a caller needs a grace period that begins after its call: number newest + 1 or more, read under the mutex
// under which grace periods begin. So a caller that comes during one waits for that to end and for the next, which
// serves everybody who came meanwhile. A grace period of the other kind with such a number serves as well.
//
// Without membarrier (ENOSYS, a seccomp filter, nohz_full) the reader itself fences after its store of `state`.
// The kinds: normal is MEMBARRIER_CMD_GLOBAL, which waits for a grace period of the kernel and interrupts nobody;
// expedited is PRIVATE_EXPEDITED, which interrupts the CPUs that run this process. With fencing readers neither
// interrupts.
//
// ThreadSanitizer needs no help: that an object's use happens before its reclamation is carried by the release store
// of `state` and the acquire load of the scan, in every build. (The heavy barrier only orders a store before a load;
// no report hangs on it. That it is there is shown by the stress test, on the hardware.)
//
// fork(): the child has the domain with its callbacks, and no other reader. At the time of fork() a callback must
// not be half done on another thread if the child is to need its result.
//
// Misuse ends the process with a message: to synchronize or rcu_barrier inside a read section (it would wait for
// itself), rcu_barrier inside a callback, to end a domain while a thread reads in it. Ask reading() and
// in_callback() first where the caller's caller may be at fault.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include "rcu/callbacks.h"
#include "rcu/grace_periods.h"
#include "rcu/reader.h"

namespace unmoor::rcu {

// The grace period to wait for: of rcu_get_state().
struct rcu_state {
  std::uint64_t target = 0;
};

class rcu_domain {
 public:
  struct Options {
    Modes modes{};
    Boot boot = Boot::ended;
    // Must outlive the domain.
    const Membarrier* membarrier = &Membarrier::real();
  };

  // Throws std::bad_alloc.
  rcu_domain() : rcu_domain(Options{}) {}
  explicit rcu_domain(const Options& options);
  rcu_domain(const rcu_domain&) = delete;
  rcu_domain& operator=(const rcu_domain&) = delete;
  // Runs the callbacks that are left. No thread may be reading, or use the domain again.
  ~rcu_domain();

  // Enter and leave a read section of the calling thread. No store but to the thread's own cache lines.
  void lock() noexcept {
    Reader& reader = cached_reader.domain == number_ ? *cached_reader.reader
                                                     : find_or_register_reader(number_, grace_periods_.readers());
    if (reader.nesting++ != 0) return;
    reader.state.store(grace_periods_.newest().load(std::memory_order_acquire), std::memory_order_release);
    if (readers_fence_) {
      __sync_synchronize();
    } else {
      std::atomic_signal_fence(std::memory_order_seq_cst);
    }
  }
  bool try_lock() noexcept {
    lock();
    return true;
  }
  void unlock() noexcept {
    Reader& reader = cached_reader.domain == number_ ? *cached_reader.reader
                                                     : find_or_register_reader(number_, grace_periods_.readers());
    if (--reader.nesting != 0) return;
    reader.state.store(0, std::memory_order_release);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (reader.waited.load(std::memory_order_relaxed) != 0) [[unlikely]]
      wake_grace_periods(reader);
  }

  // The calling thread is inside a read section of this domain.
  [[nodiscard]] bool reading() const noexcept {
    const Reader* reader = cached_reader.domain == number_ ? cached_reader.reader : find_reader(number_);
    return reader != nullptr && reader->nesting != 0;
  }
  // The calling thread is inside a callback of this domain.
  [[nodiscard]] bool in_callback() const noexcept { return callbacks_.in_callback(); }

  // From now on `normal_after_boot` and `realtime` are in effect.
  void end_boot() noexcept { grace_periods_.end_boot(); }
  [[nodiscard]] const Modes& modes() const noexcept { return grace_periods_.modes(); }
  // Whether readers fence because the kernel has no membarrier for us.
  [[nodiscard]] bool readers_fence() const noexcept { return readers_fence_; }
  [[nodiscard]] Statistics statistics() const noexcept;

 private:
  friend void rcu_synchronize(rcu_domain&) noexcept;
  friend void rcu_synchronize_expedited(rcu_domain&) noexcept;
  friend void rcu_barrier(rcu_domain&) noexcept;
  friend void rcu_call(rcu_domain&, rcu_head&, void (*)(rcu_head*) noexcept) noexcept;
  friend rcu_state rcu_get_state(const rcu_domain&) noexcept;
  friend bool rcu_poll_state(const rcu_domain&, rcu_state) noexcept;
  friend void rcu_cond_synchronize(rcu_domain&, rcu_state) noexcept;
  friend void rcu_cond_synchronize_expedited(rcu_domain&, rcu_state) noexcept;
  friend class ForkHandlers;

  void synchronize(std::uint64_t target, Kind asked) noexcept;

  const std::uint64_t number_;
  GracePeriods grace_periods_;
  const bool readers_fence_;
  Callbacks callbacks_;
};

// Return when every read section that began before the call has ended. Callers share grace periods.
void rcu_synchronize(rcu_domain& domain) noexcept;
void rcu_synchronize_expedited(rcu_domain& domain) noexcept;

// Polled grace periods: what began before get_state() has ended when poll_state() says so. poll_state() begins no
// grace period; cond_synchronize() waits for one if it must.
[[nodiscard]] rcu_state rcu_get_state(const rcu_domain& domain) noexcept;
[[nodiscard]] bool rcu_poll_state(const rcu_domain& domain, rcu_state state) noexcept;
void rcu_cond_synchronize(rcu_domain& domain, rcu_state state) noexcept;
void rcu_cond_synchronize_expedited(rcu_domain& domain, rcu_state state) noexcept;

// After a grace period `function` is called with `head`, on the domain's own thread, in order. It may block, and
// delays the callbacks after it. Needs no memory, never waits.
void rcu_call(rcu_domain& domain, rcu_head& head, void (*function)(rcu_head*) noexcept) noexcept;

// Returns when every callback that was handed in before has run.
void rcu_barrier(rcu_domain& domain) noexcept;

// A base for objects that are retired: struct Thing : rcu_obj_base<Thing> {...}; thing->retire(domain);
template <class T, class D = std::default_delete<T>>
class rcu_obj_base : private rcu_head {
 public:
  // Once for each object. D is called after a grace period, on the domain's thread.
  void retire(rcu_domain& domain, D deleter = D()) noexcept {
    deleter_ = std::move(deleter);
    rcu_call(domain, *this, [](rcu_head* head) noexcept {
      auto* self = static_cast<rcu_obj_base*>(head);
      D deleter_of_object = std::move(self->deleter_);
      deleter_of_object(static_cast<T*>(self));
    });
  }

 protected:
  rcu_obj_base() = default;
  rcu_obj_base(const rcu_obj_base&) = default;
  rcu_obj_base& operator=(const rcu_obj_base&) = default;
  ~rcu_obj_base() = default;

 private:
  [[no_unique_address]] D deleter_{};
};

// For an object that has no such base. Without memory for its callback it waits, if it may; inside a read section
// it throws std::bad_alloc, as C++26 allows, and nothing has happened.
template <class T, class D = std::default_delete<T>>
void rcu_retire(rcu_domain& domain, T* object, D deleter = D()) {
  struct Retired : rcu_head {
    Retired(T* what, D how) : object(what), deleter(std::move(how)) {}
    T* object;
    [[no_unique_address]] D deleter;
  };
  auto* retired = new (std::nothrow) Retired(object, deleter);
  if (retired == nullptr) {
    if (domain.reading()) throw std::bad_alloc();
    rcu_synchronize(domain);
    deleter(object);
    return;
  }
  rcu_call(domain, *retired, [](rcu_head* head) noexcept {
    const std::unique_ptr<Retired> self(static_cast<Retired*>(head));
    self->deleter(self->object);
  });
}

}  // namespace unmoor::rcu
