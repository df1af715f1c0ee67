// SPDX-License-Identifier: MIT
// One pass over all processes, by several threads, for everything that is wanted.
//
// A read that waits (of a process stuck in the kernel, or of a dead server's filesystem) costs its thread, not the
// answer: the process is given up, another thread goes on, and the answer says which processes were not read. The
// stuck thread ends by itself when the kernel lets it, or with the program.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "gone/census.h"
#include "gone/holders/finders.h"
#include "gone/sighting.h"

namespace unmoor::gone {

struct ScanOptions {
  unsigned threads = 0;  // 0: one per CPU, at most 8
  // How long one read may take before its process is given up, and all given-up ones together.
  std::chrono::milliseconds patience{150};
  std::chrono::milliseconds total_patience{900};
};

struct ScanResult {
  Sightings sightings;
  std::vector<pid_t> stuck;  // given up
  std::size_t unlooked = 0;  // not even begun when total_patience had passed
};

[[nodiscard]] ScanResult scan_processes(std::shared_ptr<const Census> census, Wanted wanted,
                                        holders::KnownSockets sockets, const ScanOptions& options = {});

}  // namespace unmoor::gone
