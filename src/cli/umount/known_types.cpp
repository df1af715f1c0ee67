// SPDX-License-Identifier: MIT
#include "cli/umount/known_types.h"

#include <algorithm>
#include <array>
#include <fcntl.h>

namespace unmoor::cli::umount {
namespace {

using std::string_view_literals::operator""sv;

// The types that umount(8) 2.38 tells by statfs(2)'s magic number: found by giving it each number that linux/magic.h
// and the file systems in use know, and looking at what it printed.
constexpr std::array kKnown = {
    "9p"sv,          "adfs"sv,       "affs"sv,      "afs"sv,      "autofs"sv,  "bdev"sv,    "befs"sv,
    "binfmt_misc"sv, "btrfs"sv,      "ceph"sv,      "cgroup"sv,   "cifs"sv,    "coda"sv,    "cramfs"sv,
    "debugfs"sv,     "devpts"sv,     "ecryptfs"sv,  "efivarfs"sv, "efs"sv,     "ext2"sv,    "ext3"sv,
    "ext4"sv,        "f2fs"sv,       "fuse"sv,      "fuseblk"sv,  "futexfs"sv, "hfsplus"sv, "hostfs"sv,
    "hpfs"sv,        "hugetlbfs"sv,  "iso9660"sv,   "jffs2"sv,    "jfs"sv,     "minix"sv,   "mqueue"sv,
    "ncp"sv,         "nfs"sv,        "nfs4"sv,      "nilfs2"sv,   "ntfs"sv,    "ocfs2"sv,   "openpromfs"sv,
    "pipefs"sv,      "proc"sv,       "pstore"sv,    "qnx4"sv,     "qnx6"sv,    "ramfs"sv,   "reiser4"sv,
    "romfs"sv,       "securityfs"sv, "selinuxfs"sv, "smackfs"sv,  "smb"sv,     "sockfs"sv,  "squashfs"sv,
    "sysfs"sv,       "tmpfs"sv,      "ubifs"sv,     "udf"sv,      "ufs"sv,     "vfat"sv,    "vxfs"sv,
    "xenfs"sv,       "xfs"sv};

}  // namespace

bool said_as_given(const kernel::SystemCalls& calls, const Options& options, Lookup lookup, const char* target,
                   std::string_view type) {
  if (target[0] != '/' || options.lazy || options.force || options.no_canonicalize) return false;
  if (options.detach_loop && lookup == Lookup::kFirst) return false;
  if (std::ranges::find(kKnown, type.substr(0, type.find('.'))) == kKnown.end()) return false;
  // Files it looks up in the table.
  struct statx facts{};
  const long result = calls.statx(AT_FDCWD, target, AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC, STATX_TYPE, &facts);
  return result < 0 || S_ISDIR(facts.stx_mode);
}

}  // namespace unmoor::cli::umount
