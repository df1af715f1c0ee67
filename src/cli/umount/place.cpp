// SPDX-License-Identifier: MIT
#include "cli/umount/place.h"

#include <fcntl.h>

namespace unmoor::cli::umount {
namespace {

constexpr unsigned kStatxMountId = 0x1000;         // STATX_MNT_ID
constexpr unsigned kStatxMountIdUnique = 0x4000;   // STATX_MNT_ID_UNIQUE
constexpr std::uint64_t kStatxMountRoot = 0x2000;  // STATX_ATTR_MOUNT_ROOT

}  // namespace

std::optional<std::uint64_t> mount_at(const kernel::SystemCalls& calls, const char* name, IdKind kind) {
  const unsigned wanted = kind == IdKind::kUnique ? kStatxMountIdUnique : kStatxMountId;
  struct statx answer{};
  const long result = calls.statx(AT_FDCWD, name, AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC, wanted, &answer);
  if (result < 0 || (answer.stx_mask & wanted) == 0) return std::nullopt;
  if ((answer.stx_attributes & answer.stx_attributes_mask & kStatxMountRoot) == 0) return std::nullopt;
  return answer.stx_mnt_id;
}

const kernel::MountEntry* line_of(const kernel::SystemCalls& calls, const kernel::MountTable& table, const char* name) {
  const std::optional<std::uint64_t> id = mount_at(calls, name, IdKind::kTable);
  return id ? table.by_id(static_cast<int>(*id)) : nullptr;
}

}  // namespace unmoor::cli::umount
