// SPDX-License-Identifier: MIT
#include "cli/umount/spelled_out.h"

#include <cstdlib>
#include <unistd.h>

namespace unmoor::cli::umount {

std::string spelled_out(const char* target) {
  std::string path = target;
  if (path.empty()) return path;
  if (path.front() != '/') {
    char* const here = ::get_current_dir_name();
    if (here != nullptr) path = std::string(here) + "/" + path;
    std::free(here);
  }
  while (path.size() > 1 && path.back() == '/')
    path.pop_back();
  return path;
}

}  // namespace unmoor::cli::umount
