// SPDX-License-Identifier: MIT
#include "kernel/filesystem_types.h"

#include <algorithm>
#include <array>

namespace unmoor::kernel {
namespace {

// Not: bpf (pinned programs), hugetlbfs (reserved pages), ramfs (any amount of memory), cgroup v1 (hierarchies),
// autofs, binfmt_misc, overlay (its layers), FUSE, network, anything with a device.
constexpr std::array<std::string_view, 10> kUnseen = {"tmpfs",  "proc",    "sysfs",      "cgroup2", "devpts",
                                                      "mqueue", "debugfs", "securityfs", "nsfs",    "tracefs"};
constexpr std::array<std::string_view, 14> kLocal = {"ext2",  "ext3",   "ext4",     "xfs",   "btrfs",
                                                     "f2fs",  "vfat",   "squashfs", "erofs", "iso9660",
                                                     "ramfs", "rootfs", "devtmpfs", "cgroup"};

}  // namespace

bool shuts_down_unseen(const MountEntry& mount) noexcept {
  if (mount.type == "nsfs" && mount.root.starts_with("mnt:")) return false;  // its mounts die with it
  return std::ranges::find(kUnseen, mount.type) != kUnseen.end();
}

bool looks_up_locally(const MountEntry& mount) noexcept {
  return shuts_down_unseen(mount) || std::ranges::find(kLocal, mount.type) != kLocal.end();
}

}  // namespace unmoor::kernel
