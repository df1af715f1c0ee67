// SPDX-License-Identifier: MIT
#include "detach/harmless.h"

#include <cstdint>
#include <linux/magic.h>
#include <sys/vfs.h>

#include "kernel/filesystem_types.h"
#include "kernel/mount_id.h"

namespace unmoor::detach {
namespace {

constexpr std::uint64_t kSmallBytes = 4ULL << 20;
constexpr std::uint64_t kSmallInodes = 4096;  // each is about 1 KiB of the kernel's memory

}  // namespace

LateShutdown late_shutdown(const kernel::MountEntry& mount) noexcept {
  if (!kernel::shuts_down_unseen(mount)) return LateShutdown::kCounts;
  return mount.type == "tmpfs" ? LateShutdown::kUnseenIfSmall : LateShutdown::kUnseen;
}

bool is_small_tmpfs(const kernel::SystemCalls& calls, int fd, int mount_id) {
  const auto id = kernel::mount_id(calls, fd, "", AT_EMPTY_PATH, kernel::kStatxMountId);
  if (!id || id->value != static_cast<std::uint64_t>(mount_id)) return false;
  struct statfs usage{};
  if (calls.call(SYS_fstatfs, fd, kernel::SystemCalls::pointer(&usage)) != 0) return false;
  if (usage.f_type != TMPFS_MAGIC || usage.f_files == 0) return false;
  const std::uint64_t inodes = usage.f_files - usage.f_ffree;
  if (inodes <= 1) return true;  // its root alone: runtimes mask directories with such, without a limit of blocks
  return usage.f_blocks != 0 &&
         (usage.f_blocks - usage.f_bfree) * static_cast<std::uint64_t>(usage.f_bsize) <= kSmallBytes &&
         inodes <= kSmallInodes;
}

}  // namespace unmoor::detach
