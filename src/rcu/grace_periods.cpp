// SPDX-License-Identifier: MIT
#include "rcu/grace_periods.h"

#include <ctime>
#include <linux/futex.h>
#include <new>
#include <sys/syscall.h>
#include <unistd.h>

#include "sync/pause.h"

namespace unmoor::rcu {

namespace {

// A read section of the tree lasts about a microsecond, so most that are met end within this many looks.
constexpr int kLooksBeforeSleep = 200;

// How long to sleep where setting `waited` is not followed by a barrier in the reader, so that it may be missed.
constexpr timespec kLookAgain{.tv_sec = 0, .tv_nsec = 1'000'000};

bool is_quiescent(const Reader& reader, std::uint64_t number) noexcept {
  const std::uint64_t entered = reader.state.load(std::memory_order_acquire);
  return entered == 0 || entered >= number;
}

// Both commands must be there: what only one of them offers would be the wrong kind half of the time.
bool has_membarrier(const Membarrier& membarrier) noexcept {
  constexpr long kWanted =
      MEMBARRIER_CMD_GLOBAL | MEMBARRIER_CMD_PRIVATE_EXPEDITED | MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED;
  const long supported = membarrier.call(MEMBARRIER_CMD_QUERY);
  return supported >= 0 && (supported & kWanted) == kWanted &&
         membarrier.call(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0 &&
         membarrier.call(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0;
}

}  // namespace

GracePeriods::GracePeriods(const Modes& modes, Boot boot, const Membarrier& membarrier)
    : modes_(modes),
      membarrier_(membarrier),
      readers_(std::make_shared<ReaderRegistry>()),
      readers_fence_(!has_membarrier(membarrier)),
      boot_(boot) {}

GracePeriods::~GracePeriods() {
  readers_->close();
}

std::uint64_t GracePeriods::target() const noexcept {
  // Under the lock, so that what the caller did before happens before any grace period that begins from now on.
  const MutexLock lock(mutex_);
  return newest_.load(std::memory_order_relaxed) + 1;
}

void GracePeriods::wait(std::uint64_t target, Kind asked) noexcept {
  MutexLock lock(mutex_);
  if (completed_.load(std::memory_order_relaxed) >= target) return;
  ++waits_;
  while (completed_.load(std::memory_order_relaxed) < target) {
    const Kind kind = kind_in_effect(asked, modes_, boot_);
    if (is_running(kind)) {
      changed_.wait(mutex_);
      continue;
    }
    set_running(kind, true);
    const std::uint64_t number = newest_.load(std::memory_order_relaxed) + 1;
    newest_.store(number, std::memory_order_release);
    lock.unlock();

    heavy_barrier(kind);
    wait_for_readers(number, kind);

    lock.lock();
    set_running(kind, false);
    ++runs_[static_cast<std::size_t>(kind)];
    // The other kind may have begun later and ended first.
    if (completed_.load(std::memory_order_relaxed) < number) completed_.store(number, std::memory_order_release);
    changed_.notify_all();
  }
}

void GracePeriods::heavy_barrier(Kind kind) const noexcept {
  if (readers_fence_) {
    __sync_synchronize();
    return;
  }
  const int preferred = kind == Kind::normal ? MEMBARRIER_CMD_GLOBAL : MEMBARRIER_CMD_PRIVATE_EXPEDITED;
  if (membarrier_.call(preferred) == 0) return;
  // Refused now and granted when the domain was made (a seccomp filter came in between): the other is as good a
  // barrier. Without either nothing can be promised to readers that do not fence.
  const int other = kind == Kind::normal ? MEMBARRIER_CMD_PRIVATE_EXPEDITED : MEMBARRIER_CMD_GLOBAL;
  if (membarrier_.call(other) != 0) fatal("membarrier was granted when the domain was made, and is refused now");
}

void GracePeriods::wait_for_readers(std::uint64_t number, Kind kind) noexcept {
  for (Reader* reader = readers_->first(); reader != nullptr; reader = reader->next) {
    for (int looks = 0; looks < kLooksBeforeSleep && !is_quiescent(*reader, number); ++looks)
      pause_briefly();
    if (!is_quiescent(*reader, number)) sleep_on(*reader, number, kind);
  }
}

void GracePeriods::sleep_on(Reader& reader, std::uint64_t number, Kind kind) noexcept {
  // Expedited: one more barrier, and the reader, when it leaves, either sees `waited` or is seen to have left.
  // Otherwise a barrier would cost more than looking again.
  const bool sure = kind == Kind::expedited && !readers_fence_;
  while (true) {
    reader.waited.store(1, std::memory_order_relaxed);
    if (sure) heavy_barrier(kind);
    if (is_quiescent(reader, number)) return;
    ::syscall(SYS_futex, &reader.waited, FUTEX_WAIT_PRIVATE, 1, sure ? nullptr : &kLookAgain, nullptr, 0);
    if (is_quiescent(reader, number)) return;
  }
}

void GracePeriods::end_boot() noexcept {
  const MutexLock lock(mutex_);
  boot_ = Boot::ended;
}

void GracePeriods::add_to(Statistics& statistics) const noexcept {
  statistics.readers += readers_->owned();
  const MutexLock lock(mutex_);
  statistics.normal += runs_[static_cast<std::size_t>(Kind::normal)];
  statistics.expedited += runs_[static_cast<std::size_t>(Kind::expedited)];
  statistics.waits += waits_;
}

void GracePeriods::close() noexcept {
  heavy_barrier(Kind::expedited);
  for (const Reader* reader = readers_->first(); reader != nullptr; reader = reader->next) {
    if (reader->state.load(std::memory_order_acquire) != 0) fatal("a domain ends while a thread reads in it");
  }
}

void GracePeriods::before_fork() noexcept {
  mutex_.lock();
  readers_->before_fork();
}

void GracePeriods::after_fork_in_parent() noexcept {
  readers_->after_fork_in_parent();
  mutex_.unlock();
}

void GracePeriods::after_fork_in_child(const Reader* survivor) noexcept {
  readers_->after_fork_in_child(survivor);
  running_ = {};
  new (&changed_) CondVar;  // who waited on it is not here, but would be waited for
  if (!readers_fence_ && membarrier_.call(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) != 0) {
    fatal("membarrier was granted before fork(), and is refused after it");
  }
  mutex_.unlock();
}

}  // namespace unmoor::rcu
