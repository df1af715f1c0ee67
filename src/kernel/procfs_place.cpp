// SPDX-License-Identifier: MIT
#include "kernel/procfs_place.h"

#include <algorithm>
#include <array>

namespace unmoor::kernel {
namespace {

constexpr unsigned kMountId = 0x1000;        // STATX_MNT_ID
constexpr unsigned kMountIdUnique = 0x4000;  // STATX_MNT_ID_UNIQUE
constexpr int kFlags = AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT | AT_EMPTY_PATH;

constexpr std::array<std::string_view, 52> kLocalTypes = {
    "autofs",   "bcachefs", "bdev",    "bfs",    "binfmt_misc", "bpf",        "btrfs",     "cgroup",    "cgroup2",
    "configfs", "cpuset",   "debugfs", "devpts", "devtmpfs",    "efivarfs",   "erofs",     "exfat",     "ext2",
    "ext3",     "ext4",     "f2fs",    "fuse",   "fuseblk",     "fusectl",    "hfsplus",   "hugetlbfs", "iso9660",
    "jfs",      "mqueue",   "msdos",   "nfsd",   "nilfs2",      "nsfs",       "ntfs3",     "overlay",   "proc",
    "pstore",   "ramfs",    "resctrl", "rootfs", "rpc_pipefs",  "securityfs", "selinuxfs", "squashfs",  "sysfs",
    "tmpfs",    "tracefs",  "udf",     "vfat",   "virtiofs",    "xfs",        "zfs",
};

}  // namespace

Result<Place> place_of(const SystemCalls& calls, int directory, const char* link) {
  struct ::statx facts;
  const unsigned mask = STATX_TYPE | STATX_INO | STATX_NLINK | kMountId;
  const long result = calls.statx(directory, link, kFlags, mask, &facts);
  if (result < 0) return fail_from(result, "statx", link);
  if ((facts.stx_mask & kMountId) == 0) return fail(ENOSYS, "statx", link);
  return Place{.mount_id = facts.stx_mnt_id,
               .device = {facts.stx_dev_major, facts.stx_dev_minor},
               .inode = facts.stx_ino,
               .mode = facts.stx_mode,
               .links = facts.stx_nlink,
               .special = {facts.stx_rdev_major, facts.stx_rdev_minor}};
}

Result<std::uint64_t> unique_mount_id(const SystemCalls& calls, int directory, const char* link) {
  struct ::statx facts;
  const long result = calls.statx(directory, link, kFlags, kMountIdUnique, &facts);
  if (result < 0) return fail_from(result, "statx", link);
  if ((facts.stx_mask & kMountIdUnique) == 0) return fail(ENOSYS, "statx", link);
  return facts.stx_mnt_id;
}

bool may_revalidate(std::string_view filesystem_type) {
  const std::string_view type = filesystem_type.substr(0, filesystem_type.find('.'));  // "fuse.sshfs"
  return std::ranges::find(kLocalTypes, type) == kLocalTypes.end();
}

}  // namespace unmoor::kernel
