// SPDX-License-Identifier: MIT
// Processes that do nothing, each with the same open descriptors: what a scan of /proc has to go through.
#pragma once

#include <cstddef>
#include <string>
#include <sys/types.h>
#include <vector>

#include "kernel/error.h"

namespace unmoor::cli::bench {

class Crowd {
 public:
  // Of ten descriptors five are files in `directory`, two are ends of a socket pair, two of a pipe, one is an eventfd.
  // The processes are killed when the crowd ends, or the thread that made it. Errors: those of open(2) and fork(2).
  [[nodiscard]] static Result<Crowd> make(std::size_t processes, std::size_t descriptors, const std::string& directory);
  Crowd(Crowd&& other) noexcept : pids_(std::move(other.pids_)) { other.pids_.clear(); }
  Crowd& operator=(Crowd&&) = delete;
  ~Crowd();

 private:
  Crowd() = default;
  std::vector<pid_t> pids_;
};

}  // namespace unmoor::cli::bench
