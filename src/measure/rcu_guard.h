// SPDX-License-Identifier: MIT
// Changes the kernel's RCU knobs, /sys/kernel/rcu_normal and rcu_expedited, for as long as the guard lives, and puts
// them back on every way out: destructor, exception, exit(), exec, any signal, SIGKILL.
// (Meaning of the knobs: Documentation/admin-guide/kernel-parameters.txt, rcupdate.rcu_normal and rcu_expedited.)
//
// The knobs belong to the whole machine, so the guard holds an exclusive flock(2) on rcu_normal itself: two benches
// refuse each other, and `flock /sys/kernel/rcu_normal sh -c '...'` takes part in the same agreement.
//
// A guardian process (own session, every signal blocked, no descriptor but the knobs and a socket to the owner, no
// child that a wait(-1) of the owner sees) restores the knobs when the owner dies. Limits, which nothing in user space
// can lift: owner and guardian killed together with SIGKILL (a cgroup's kill, or the owner being pid 1 of a pid
// namespace) leave the knob as it is.
//
// Somebody who ignores the lock and writes a knob meanwhile keeps what he wrote: the old value is put back only while
// the knob still has the value that the guard gave it. disturbed() tells.
//
// Thread-safety: none; one thread owns a guard. A fork of the owner that destroys its copy changes nothing.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "kernel/error.h"
#include "kernel/system_calls.h"

namespace unmoor::measure {

// What the knobs are to be while the guard lives; an empty one is left alone. rcu_normal wins over rcu_expedited.
struct RcuKnobs {
  std::optional<int> normal;
  std::optional<int> expedited;
};

class RcuGuard {
 public:
  struct Options {
    RcuKnobs knobs;
    // How long to wait for the lock; zero: refuse at once when somebody else has it.
    std::chrono::milliseconds wait_for_lock{0};
    std::string directory = "/sys/kernel";
  };

  // Errors: those of open(2) (EACCES, EROFS: not root, or a read-only /sys; ENOENT: no such knob), EBUSY when another
  // process (named in the error) has the lock, also for a second guard in one process; EIO when the guardian cannot be
  // started. After an error the knobs are as they were.
  [[nodiscard]] static Result<RcuGuard> set(const Options& options,
                                            const kernel::SystemCalls& calls = kernel::SystemCalls::real());

  RcuGuard(RcuGuard&&) noexcept;
  RcuGuard& operator=(RcuGuard&&) noexcept;
  ~RcuGuard();

  // True when a knob no longer has the value that the guard gave it: figures taken meanwhile mix two modes.
  [[nodiscard]] bool disturbed() const;

 private:
  struct State;
  explicit RcuGuard(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// The knobs as they are now; an empty one is not there or not readable.
[[nodiscard]] RcuKnobs read_rcu_knobs(const kernel::SystemCalls& calls, const std::string& directory = "/sys/kernel");

}  // namespace unmoor::measure
