// SPDX-License-Identifier: MIT
// A process that does one thing when its owner dies, whatever the owner dies of, SIGKILL included: own session, every
// signal blocked, no descriptor but the ones it is given, no child that a wait(-1) of the owner would see.
//
// It is a fork that stays in the owner's mount namespace of that moment, so `on_death` may unmount there. Two things
// nothing in user space can lift: owner and guardian killed together (a cgroup's kill, or the owner being pid 1 of a
// pid namespace), and what a descriptor beyond `kept` was good for.
//
// Thread-safety: none; one thread owns it. A fork of the owner that destroys its copy changes nothing.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <sys/types.h>

#include "kernel/error.h"
#include "kernel/system_calls.h"
#include "kernel/unique_fd.h"

namespace unmoor::measure {

class Guardian {
 public:
  enum class Last : std::uint8_t {
    kNothing,  // the owner has done the work itself
    kOnDeath,  // do it now, then end
  };

  // `on_death` runs after a fork: system calls only, no memory. Returns when the guardian is on guard.
  // Errors: those of socketpair(2) and clone(2); EIO when the guardian died at once.
  [[nodiscard]] static Result<Guardian> start(const kernel::SystemCalls& calls, std::array<int, 2> kept,
                                              const std::function<void()>& on_death);

  Guardian(Guardian&& other) noexcept;
  Guardian& operator=(Guardian&&) = delete;
  // dismiss(Last::kOnDeath), unless dismissed.
  ~Guardian() { dismiss(Last::kOnDeath); }

  // Ends the guardian and reaps it.
  void dismiss(Last last);
  // False in a fork of the owner.
  [[nodiscard]] bool owned() const;

 private:
  Guardian(const kernel::SystemCalls& calls, pid_t owner, pid_t guardian, kernel::UniqueFd socket)
      : calls_(&calls), owner_(owner), guardian_(guardian), socket_(std::move(socket)) {}

  const kernel::SystemCalls* calls_;
  pid_t owner_;
  pid_t guardian_;
  kernel::UniqueFd socket_;
};

}  // namespace unmoor::measure
