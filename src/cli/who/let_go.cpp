// SPDX-License-Identifier: MIT
#include "cli/who/let_go.h"

#include <vector>

#include "kernel/procfs_directory.h"

namespace unmoor::cli {

// Whatever it is on: that it is on the target cannot always be told (a file of btrfs has another number).
void close_inherited(const kernel::SystemCalls& calls) {
  std::vector<int> closing;
  (void)kernel::for_each_name(calls, AT_FDCWD, "/proc/self/fd", [&](std::string_view name) {
    const int fd = kernel::numeric_name(name);
    if (fd > 2 && calls.call(SYS_fcntl, fd, F_GETFD) == 0) closing.push_back(fd);
  });
  for (const int fd : closing)
    calls.close(fd);
}

void leave_directory(const kernel::SystemCalls& calls) {
  (void)calls.call(SYS_chdir, kernel::SystemCalls::pointer("/"));
}

}  // namespace unmoor::cli
