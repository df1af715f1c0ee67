// SPDX-License-Identifier: MIT
// Who a process is, from what never waits: comm and status (never cmdline, which takes the address space's lock), and
// its control group, which tells the systemd unit or the container.
#pragma once

#include <string>
#include <string_view>
#include <sys/types.h>

#include "kernel/system_calls.h"

namespace unmoor::kernel {

struct ProcessIdentity {
  std::string command;         // comm: at most 15 bytes
  uid_t uid = 0;               // effective
  std::string unit;            // "sshd.service", "session-3.scope"; empty: none
  std::string container;       // engine and id: "docker 0123456789ab", "crio ...", "kubernetes ..."; empty: none
  bool kernel_thread = false;  // no user memory of its own
  char state = '?';            // R, S, D, Z, ...
};

// `directory` is an open /proc/PID or /proc/PID/task/TID. What cannot be read stays empty.
[[nodiscard]] ProcessIdentity identity_of(const SystemCalls& calls, int directory);

struct ControlGroup {
  std::string unit;
  std::string container;
};

// From the text of /proc/PID/cgroup, cgroup v1 and v2.
[[nodiscard]] ControlGroup parse_cgroup(std::string_view text);

// The user's name, from /etc/passwd by hand: NSS may ask a server. The number itself when there is none.
[[nodiscard]] std::string user_name(const SystemCalls& calls, uid_t uid);

}  // namespace unmoor::kernel
