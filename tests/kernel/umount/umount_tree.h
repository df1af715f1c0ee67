// SPDX-License-Identifier: MIT
// A tmpfs to hang mounts in, and `unmoor umount` run on them as a program.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "support/mount_rights.h"
#include "support/program.h"

namespace unmoor::test {

inline std::size_t occurrences(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += what.size())
    ++found;
  return found;
}

class UmountTree : public testing::Test {
 protected:
  void SetUp() override {
    UNMOOR_NEEDS_MOUNTS();
    char* const here = get_current_dir_name();
    here_ = here;
    std::free(here);
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
  // Lines of the mount table with a mount at `top_` or below.
  [[nodiscard]] std::size_t left() const { return occurrences(file_text("/proc/self/mountinfo"), " " + top_); }

  [[nodiscard]] static std::vector<std::string> words(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {UNMOOR_PROGRAM, "umount"});
    return arguments;
  }
  [[nodiscard]] static Ran umount(const std::vector<std::string>& arguments) { return run_program(words(arguments)); }

  std::string here_;
  std::string top_;
};

// Long counts run in full under `make check-long`.
inline int long_count(int full, int part) {
  return std::getenv("UNMOOR_LONG") != nullptr ? full : full / part;
}

}  // namespace unmoor::test
