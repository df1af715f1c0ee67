// SPDX-License-Identifier: MIT
// Which mount a path leads to, by statx(2): STATX_MNT_ID_UNIQUE from Linux 6.8 (never reused), STATX_MNT_ID from 5.8.
// With AT_STATX_DONT_SYNC nothing is asked of the filesystem: it cannot hang on a FUSE server that does not answer.
#pragma once

#include <cstdint>

#include "kernel/error.h"
#include "kernel/system_calls.h"

namespace unmoor::kernel {

inline constexpr unsigned kStatxMountId = 0x1000;
inline constexpr unsigned kStatxMountIdUnique = 0x4000;

struct MountId {
  std::uint64_t value = 0;
  unsigned mask = 0;           // kStatxMountIdUnique or kStatxMountId: what `value` is
  bool is_mount_root = false;  // the path is the root of that mount

  [[nodiscard]] bool unique() const { return mask == kStatxMountIdUnique; }
  [[nodiscard]] bool same_mount(const MountId& other) const { return value == other.value && mask == other.mask; }
};

// `flags`: AT_SYMLINK_NOFOLLOW, AT_EMPTY_PATH or 0; automounts are never triggered. `mask`: which id; a kernel that
// has no unique ids answers with the other kind. Errors: those of statx(2); EOPNOTSUPP before Linux 5.8.
[[nodiscard]] Result<MountId> mount_id(const SystemCalls& calls, int directory, const char* path, int flags,
                                       unsigned mask = kStatxMountIdUnique);

}  // namespace unmoor::kernel
