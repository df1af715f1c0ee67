// SPDX-License-Identifier: MIT
#include "cli/bench/own_calls.h"

#include <cerrno>
#include <chrono>
#include <sys/mount.h>
#include <utility>

namespace unmoor::cli::bench {

Result<void> mount_tmpfs(const std::string& at) {
  if (mount("tmpfs", at.c_str(), "tmpfs", 0, nullptr) != 0) return fail(errno, "mount tmpfs", at);
  return {};
}

Result<void> unmount(const std::string& at, int flags) {
  if (umount2(at.c_str(), flags) != 0) return fail(errno, "umount2", at);
  return {};
}

Result<void> leave_nothing_mounted(const std::string& at) {
  while (umount2(at.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) == 0) {
  }
  return {};
}

measure::Side in_process(const std::string& shown, std::function<Result<void>()> work) {
  measure::Side side;
  side.command = shown;
  side.run = [work = std::move(work)]() -> Result<double> {
    const auto start = std::chrono::steady_clock::now();
    if (const Result<void> done = work(); !done) return std::unexpected(done.error());
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  return side;
}

}  // namespace unmoor::cli::bench
