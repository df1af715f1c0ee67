// SPDX-License-Identifier: MIT
// A place to mount in: a fresh directory with a private tmpfs on it, the current directory while it lives. Gone on
// every way out: whatever is mounted below it is detached and the directory removed, by a guardian if the process is
// killed.
//
// Thread-safety: none (it changes the process's current directory).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kernel/error.h"
#include "kernel/unique_fd.h"
#include "measure/guardian.h"

namespace unmoor::measure {

enum class MountNamespace : std::uint8_t {
  kOwn,      // the one this process is in: the machine's, for a program that root starts
  kPrivate,  // a new one (in a new user namespace for an ordinary user, which the process then stays in)
};

class Scratch {
 public:
  // Errors: those of mkdir(2), unshare(2), mount(2). The parent directory is $TMPDIR, else /tmp.
  [[nodiscard]] static Result<Scratch> make(MountNamespace where);

  Scratch(Scratch&& other) noexcept;
  Scratch& operator=(Scratch&&) = delete;
  ~Scratch();

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  Scratch() = default;

  std::string path_;
  kernel::UniqueFd home_;  // the mount namespace to go back to; empty: stay
  std::optional<Guardian> guardian_;
};

}  // namespace unmoor::measure
