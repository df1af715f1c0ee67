// SPDX-License-Identifier: MIT
// The test's own directory: where kernel_main.cpp has put it.
#pragma once

#include <cstdlib>
#include <string>
#include <unistd.h>

namespace unmoor::test {

inline std::string here() {
  char* const directory = get_current_dir_name();
  std::string path = directory;
  std::free(directory);
  return path;
}

}  // namespace unmoor::test
