// SPDX-License-Identifier: MIT
// Where figures were taken: without it they mean nothing.
#pragma once

#include <optional>
#include <string>

namespace unmoor::measure {

struct Environment {
  std::string kernel;   // "Linux 6.1.0-rt x86_64"
  std::string version;  // uname's version, with PREEMPT_RT where it is
  int cpus = 0;         // online
  std::string cpu;      // the model, as /proc/cpuinfo names it; empty: it does not
  std::optional<int> rcu_normal;
  std::optional<int> rcu_expedited;
  // The first line of each program's --version; empty: no such program.
  std::string util_linux;
  std::string crun;
  std::string bubblewrap;

  bool operator==(const Environment&) const = default;
};

[[nodiscard]] Environment read_environment();

}  // namespace unmoor::measure
