// SPDX-License-Identifier: MIT
#include "cli/umount/name_space.h"

#include <cstdlib>
#include <fcntl.h>
#include <sched.h>

namespace unmoor::cli::umount {

std::string name_space_path(const char* name) {
  char* end = nullptr;
  const long number = std::strtol(name, &end, 10);
  return number > 0 && *end == 0 ? "/proc/" + std::to_string(number) + "/ns/mnt" : name;
}

NameSpaceVisit::NameSpaceVisit(const kernel::SystemCalls& calls, const char* name) : calls_(calls) {
  if (name == nullptr) return;
  const long home = calls.open("/proc/self/ns/mnt", O_RDONLY);
  const long there = home < 0 ? home : calls.open(name_space_path(name).c_str(), O_RDONLY);
  if (home >= 0) home_.reset(static_cast<int>(home));
  long result = there;
  if (there >= 0) {
    const kernel::UniqueFd target(static_cast<int>(there));
    result = calls.setns(target.get(), CLONE_NEWNS);
  }
  if (result >= 0) return;
  home_.reset();
  error_ = static_cast<int>(-result);
}

NameSpaceVisit::~NameSpaceVisit() {
  if (home_) calls_.setns(home_.get(), CLONE_NEWNS);
}

}  // namespace unmoor::cli::umount
