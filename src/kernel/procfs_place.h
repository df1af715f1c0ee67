// SPDX-License-Identifier: MIT
// Where a magic link of /proc (PID/fd/N, cwd, root, exe, map_files/...) leads: which mount, which file.
//
// By statx(2) with AT_STATX_DONT_SYNC, which asks no FUSE server. It may still wait for a server of a filesystem that
// revalidates on a jump (NFS, 9p): see may_revalidate().
#pragma once

#include <cstdint>
#include <string_view>

#include "kernel/error.h"
#include "kernel/mount_table.h"
#include "kernel/system_calls.h"

namespace unmoor::kernel {

struct Place {
  std::uint64_t mount_id = 0;  // the small, reusable one (STATX_MNT_ID, 5.8)
  DeviceNumber device;         // st_dev: not the superblock's number on btrfs and overlay
  std::uint64_t inode = 0;
  std::uint32_t mode = 0;
  std::uint32_t links = 0;
  DeviceNumber special;  // st_rdev
};

// Of `link` seen from `directory`, or of the descriptor itself when `link` is "". Errors: those of statx(2); ENOSYS
// where the kernel tells no mount id.
[[nodiscard]] Result<Place> place_of(const SystemCalls& calls, int directory, const char* link);

// The id that is never reused (STATX_MNT_ID_UNIQUE, 6.8). Errors: those of statx(2); ENOSYS before 6.8.
[[nodiscard]] Result<std::uint64_t> unique_mount_id(const SystemCalls& calls, int directory, const char* link);

// True when statx through a magic link into a filesystem of this type may ask a server (d_weak_revalidate), or when
// nobody knows. Types that are known to answer by themselves are listed; FUSE is one of them, and overlay, as long as
// its layers are.
[[nodiscard]] bool may_revalidate(std::string_view filesystem_type);

}  // namespace unmoor::kernel
