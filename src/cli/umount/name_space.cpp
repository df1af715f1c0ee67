// SPDX-License-Identifier: MIT
#include "cli/umount/name_space.h"

#include <cstring>
#include <fcntl.h>
#include <sched.h>

namespace unmoor::cli::umount {

std::string name_space_path(const char* name) {
  const bool number = *name != 0 && name[std::strspn(name, "0123456789")] == 0;
  return number ? "/proc/" + std::string(name) + "/ns/mnt" : name;
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
