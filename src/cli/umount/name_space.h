// SPDX-License-Identifier: MIT
// Working in the mount namespace that -N names.
#pragma once

#include <string>

#include "kernel/system_calls.h"
#include "kernel/unique_fd.h"

namespace unmoor::cli::umount {

// "/proc/PID/ns/mnt" for a process number other than 0, else the file itself.
[[nodiscard]] std::string name_space_path(const char* name);

// Inside the namespace for as long as it lives; then back, with / as the working directory. A null name: no journey.
class NameSpaceVisit {
 public:
  NameSpaceVisit(const kernel::SystemCalls& calls, const char* name);
  ~NameSpaceVisit();
  NameSpaceVisit(const NameSpaceVisit&) = delete;
  NameSpaceVisit& operator=(const NameSpaceVisit&) = delete;

  // 0, or the errno that kept us outside.
  [[nodiscard]] int error() const { return error_; }

 private:
  const kernel::SystemCalls& calls_;
  kernel::UniqueFd home_;
  int error_ = 0;
};

}  // namespace unmoor::cli::umount
