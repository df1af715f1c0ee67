// SPDX-License-Identifier: MIT
// One tmpfs, mounted at ./X.
#pragma once

#include <sys/mount.h>
#include <sys/stat.h>

#include <gtest/gtest.h>

#include "support/mount_rights.h"

namespace unmoor::test {

class TmpfsAtX : public testing::Test {
 protected:
  void SetUp() override {
    UNMOOR_NEEDS_MOUNTS();
    mkdir("X", 0755);
    ASSERT_EQ(mount("x", "X", "tmpfs", 0, nullptr), 0);
  }
  void TearDown() override { umount2("X", MNT_DETACH); }
};

}  // namespace unmoor::test
