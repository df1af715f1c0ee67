// SPDX-License-Identifier: MIT
#include "kernel/statmount.h"

#include <sys/mount.h>
#include <sys/stat.h>

#include <gtest/gtest.h>

#include "support/mount_rights.h"

namespace unmoor::kernel {
namespace {

constexpr unsigned kStatxMountIdUnique = 0x4000;

TEST(Statmount, SeesAMountComeAndGo) {
  UNMOOR_NEEDS_MOUNTS();
  ASSERT_EQ(mkdir("m", 0755), 0);
  ASSERT_EQ(mount("t", "m", "tmpfs", 0, nullptr), 0);
  struct ::statx facts{};
  const SystemCalls& calls = SystemCalls::real();
  ASSERT_EQ(calls.statx(AT_FDCWD, "m", AT_STATX_DONT_SYNC, kStatxMountIdUnique, &facts), 0);
  if ((facts.stx_mask & kStatxMountIdUnique) == 0) GTEST_SKIP() << "needs Linux 6.8: unique mount ids";
  EXPECT_EQ(mount_presence(calls, facts.stx_mnt_id), MountPresence::kPresent);
  ASSERT_EQ(umount2("m", 0), 0);
  EXPECT_EQ(mount_presence(calls, facts.stx_mnt_id), MountPresence::kAbsent);
}

}  // namespace
}  // namespace unmoor::kernel
