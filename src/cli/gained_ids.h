// SPDX-License-Identifier: MIT
// For the programs' main: none of them is written to be setuid or setgid. One that has been installed so all the same
// (in place of umount(8), say) is the caller's and nobody else's before it does anything.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <sys/auxv.h>
#include <unistd.h>

namespace unmoor::cli {

inline void give_up_gained_ids() {
  if (getauxval(AT_SECURE) == 0) return;  // no system call for everybody else
  const gid_t group = getgid();
  const uid_t user = getuid();
  if (setresgid(group, group, group) == 0 && setresuid(user, user, user) == 0) return;
  std::perror("unmoor: cannot give up the privileges of its file");
  std::exit(1);
}

}  // namespace unmoor::cli
