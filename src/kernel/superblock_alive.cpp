// SPDX-License-Identifier: MIT
#include "kernel/superblock_alive.h"

#include <array>
#include <string>
#include <sys/sysmacros.h>

#include "kernel/procfs_place.h"

namespace unmoor::kernel {
namespace {

// A FUSE connection's directory is named by the superblock's minor number and lives as long as the superblock. Only
// where fusectl is mounted: its absence must not be taken for an answer.
Alive fuse_alive(const SystemCalls& calls, DeviceNumber device) {
  struct ::statx facts;
  const std::string connection = "/sys/fs/fuse/connections/" + std::to_string(device.minor);
  if (calls.statx(AT_FDCWD, connection.c_str(), AT_STATX_DONT_SYNC, STATX_TYPE, &facts) == 0) return Alive::kYes;
  constexpr std::uint64_t kFusectlRoot = 1;  // FUSE_CTL's root inode number, against sysfs's own empty directory
  const long result = calls.statx(AT_FDCWD, "/sys/fs/fuse/connections", AT_STATX_DONT_SYNC, STATX_INO, &facts);
  return result == 0 && facts.stx_ino == kFusectlRoot ? Alive::kNo : Alive::kUnknown;
}

}  // namespace

Alive superblock_alive(const SystemCalls& calls, DeviceNumber device, std::string_view type) {
  if (type == "fuse" || type.starts_with("fuse.")) return fuse_alive(calls, device);
  return answers_by_number(type) ? alive_by_number(calls, device) : Alive::kUnknown;
}

bool answers_by_number(std::string_view type) {
  const std::string_view family = type.substr(0, type.find('.'));
  return family != "fuse" && family != "fuseblk" && !may_revalidate(family);
}

long ustat_number(DeviceNumber device) {
  return static_cast<long>((device.minor & 0xff) | (device.major << 8) | ((device.minor & ~0xffU) << 12));
}

Alive alive_by_number([[maybe_unused]] const SystemCalls& calls, [[maybe_unused]] DeviceNumber device) {
#ifdef SYS_ustat
  std::array<char, 64> answer;  // struct ustat: 32 bytes
  const long result = calls.call(SYS_ustat, ustat_number(device), SystemCalls::pointer(answer.data()));
  if (result == 0) return Alive::kYes;
  if (result == -EINVAL) return Alive::kNo;
#endif
  return Alive::kUnknown;
}

}  // namespace unmoor::kernel
