// SPDX-License-Identifier: MIT
#include "kernel/mount_id.h"

namespace unmoor::kernel {
namespace {

constexpr std::uint64_t kAttributeMountRoot = 0x2000;  // STATX_ATTR_MOUNT_ROOT

}  // namespace

Result<MountId> mount_id(const SystemCalls& calls, int directory, const char* path, int flags, unsigned mask) {
  struct ::statx facts{};
  const int all = flags | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC;
  long result = calls.statx(directory, path, all, mask, &facts);
  if (result == 0 && (facts.stx_mask & mask) == 0 && mask != kStatxMountId) {
    mask = kStatxMountId;
    result = calls.statx(directory, path, all, mask, &facts);
  }
  if (result < 0) return fail_from(result, "statx");
  if ((facts.stx_mask & mask) == 0) return fail(EOPNOTSUPP, "statx");
  return MountId{
      .value = facts.stx_mnt_id, .mask = mask, .is_mount_root = (facts.stx_attributes & kAttributeMountRoot) != 0};
}

}  // namespace unmoor::kernel
