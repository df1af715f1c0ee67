// SPDX-License-Identifier: MIT
// A holder of a chosen kind, planted by unmoor-hold (hold.c): there from construction on, gone with this.
#pragma once

#include <string>
#include <sys/types.h>

#include "kernel/error.h"
#include "kernel/unique_fd.h"

namespace unmoor::cli::bench {

class PlantedHolder {
 public:
  // `directory` is a mount point with a file named "file". Errors: ENOTSUP when this machine does not allow that kind;
  // those of pipe(2) and posix_spawn(3).
  [[nodiscard]] static Result<PlantedHolder> plant(const std::string& kind, const std::string& directory);
  PlantedHolder(PlantedHolder&& other) noexcept : tell_(std::move(other.tell_)), pid_(other.pid_) { other.pid_ = 0; }
  PlantedHolder& operator=(PlantedHolder&&) = delete;
  ~PlantedHolder();

 private:
  PlantedHolder() = default;
  kernel::UniqueFd tell_;  // its standard input: it lets go when that ends
  pid_t pid_ = 0;
};

}  // namespace unmoor::cli::bench
