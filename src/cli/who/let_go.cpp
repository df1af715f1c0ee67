// SPDX-License-Identifier: MIT
#include "cli/who/let_go.h"

#include <vector>

#include "kernel/procfs_directory.h"
#include "kernel/procfs_place.h"

namespace unmoor::cli {

void let_go_of(const kernel::SystemCalls& calls, const gone::Target& target) {
  const auto is_on_target = [&](int directory, const char* link) {
    const Result<kernel::Place> place = kernel::place_of(calls, directory, link);
    return place && ((target.mount_id != 0 && place->mount_id == target.mount_id) ||
                     (target.superblock && place->device == *target.superblock));
  };
  std::vector<int> closing;
  (void)kernel::for_each_name(calls, AT_FDCWD, "/proc/self/fd", [&](std::string_view name) {
    const int fd = kernel::numeric_name(name);
    if (fd > 2 && is_on_target(fd, "")) closing.push_back(fd);
  });
  for (const int fd : closing)
    calls.close(fd);
  if (is_on_target(AT_FDCWD, "")) (void)calls.call(SYS_chdir, kernel::SystemCalls::pointer("/"));
}

}  // namespace unmoor::cli
