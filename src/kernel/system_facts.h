// SPDX-License-Identifier: MIT
// What this kernel is, as far as it decides how long grace periods take.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernel/system_calls.h"

namespace unmoor::kernel {

struct SystemFacts {
  std::string release;      // uname -r
  std::string version;      // uname -v
  bool preempt_rt = false;  // by uname -v, or /sys/kernel/realtime where there is one
  // /sys/kernel/rcu_normal and rcu_expedited; empty: no such knob, or not readable. rcu_normal wins.
  std::optional<int> rcu_normal;
  std::optional<int> rcu_expedited;
  std::vector<std::string> rcu_parameters;  // of the boot: "rcupdate.rcu_normal=1", "rcu_nocbs=2-7", ...
  std::string isolated_cpus;                // a CPU list such as "2-7"; empty: none, or not readable
  std::string nohz_full_cpus;
};

// `root` is a descriptor of "/", or of a directory that looks like it. What cannot be read stays empty.
[[nodiscard]] SystemFacts read_system_facts(const SystemCalls& calls, int root);

}  // namespace unmoor::kernel
