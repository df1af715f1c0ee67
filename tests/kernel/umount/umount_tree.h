// SPDX-License-Identifier: MIT
// `unmoor umount` run as a program, on a tree of mounts.
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

#include "support/program.h"
#include "support/tree_of_mounts.h"

namespace unmoor::test {

inline std::size_t occurrences(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += what.size())
    ++found;
  return found;
}

class UmountTree : public TreeOfMounts {
 protected:
  // Lines of the mount table with a mount at `top_` or below.
  [[nodiscard]] std::size_t left() const { return occurrences(file_text("/proc/self/mountinfo"), " " + top_); }

  [[nodiscard]] static std::vector<std::string> words(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {UNMOOR_PROGRAM, "umount"});
    return arguments;
  }
  [[nodiscard]] static Ran umount(const std::vector<std::string>& arguments) { return run_program(words(arguments)); }
};

}  // namespace unmoor::test
