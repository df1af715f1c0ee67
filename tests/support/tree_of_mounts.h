// SPDX-License-Identifier: MIT
// A tmpfs to hang many mounts in; what is left of them is gone after the test.
#pragma once

#include <string>
#include <sys/mount.h>
#include <sys/stat.h>

#include <gtest/gtest.h>

#include "support/here.h"
#include "support/mount_rights.h"

namespace unmoor::test {

class TreeOfMounts : public testing::Test {
 protected:
  void SetUp() override {
    UNMOOR_NEEDS_MOUNTS();
    here_ = here();
    top_ = here_ + "/tree";
    (void)mkdir(top_.c_str(), 0755);
    ASSERT_EQ(mount("top", top_.c_str(), "tmpfs", 0, nullptr), 0);
  }
  void TearDown() override {
    if (top_.empty()) return;
    while (umount2(top_.c_str(), MNT_DETACH) == 0) {
    }
  }

  [[nodiscard]] std::string path(const std::string& name) const { return top_ + "/" + name; }
  void mount_at(const std::string& name) const {
    (void)mkdir(path(name).c_str(), 0755);
    ASSERT_EQ(mount(name.c_str(), path(name).c_str(), "tmpfs", 0, "size=4k"), 0) << name;
  }

  std::string here_;
  std::string top_;
};

}  // namespace unmoor::test
