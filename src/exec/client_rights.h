// SPDX-License-Identifier: MIT
// Could the client make this unmount itself? The broker acts with its own rights, so it asks the kernel about the
// client before it acts for it, and believes no descriptor that it can check against the client's own /proc entry.
#pragma once

#include <cstdint>
#include <sys/types.h>

#include "kernel/error.h"
#include "kernel/system_calls.h"
#include "kernel/unique_fd.h"

namespace unmoor::exec {

// Who sent a request, as the kernel attached it to the message.
struct Sender {
  pid_t pid = 0;           // in the broker's pid namespace; 0: it has no number there
  uid_t uid = 0;           // real uid
  kernel::UniqueFd pidfd;  // SCM_PIDFD, Linux 6.5; empty before
};

// What the broker knows of itself, read once before it serves anybody.
struct Identity {
  kernel::UniqueFd proc;  // O_PATH, a real procfs
  uid_t uid = 0;
  pid_t pid = 0;
  std::uint64_t mount_namespace = 0;  // inode numbers of the namespace links
  std::uint64_t user_namespace = 0;
  int seccomp_filters = 0;

  [[nodiscard]] static Result<Identity> of_this_process(const kernel::SystemCalls& calls);
};

// The mount namespace that a request names, and the user namespace that owns it.
struct NamedSpace {
  std::uint64_t inode = 0;
  kernel::UniqueFd owner;
  std::uint64_t owner_inode = 0;
};

// Errors: EINVAL when `fd` is no mount namespace; EPERM when its owner lies outside the broker's user namespace. Asks
// nothing of a filesystem: a hostile descriptor cannot make it hang.
[[nodiscard]] Result<NamedSpace> name_space(const kernel::SystemCalls& calls, int fd);

// The sender has CAP_SYS_ADMIN over the namespace it names, is in that namespace, and is under no seccomp filter or
// security label that the broker is not under. A sender that the broker may not inspect (crun makes itself undumpable)
// must name a namespace whose user namespace the broker's own user has made: there the broker can do nothing that this
// user could not. Errors: EPERM and what was missing.
[[nodiscard]] Result<void> check_rights(const kernel::SystemCalls& calls, const Identity& self, const Sender& sender,
                                        const NamedSpace& space);

}  // namespace unmoor::exec
