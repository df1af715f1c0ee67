// SPDX-License-Identifier: MIT
#include "cli/umount/progress.h"

#include <cstdio>
#include <unistd.h>

namespace unmoor::cli::umount {
namespace {

constexpr std::chrono::seconds kPatience{1};

}  // namespace

Progress::Progress(const Options& options, std::size_t total)
    : begun_(std::chrono::steady_clock::now()),
      total_(total),
      wanted_(options.voice == Voice::kUnmoor && !options.json && total > 1 && ::isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (shown_) std::fputs("\r\033[K", stderr);
}

void Progress::tell(std::size_t done) {
  if (!wanted_ || std::chrono::steady_clock::now() - begun_ < kPatience) return;
  std::fprintf(stderr, "\rumount: %zu of %zu\033[K", done, total_);
  shown_ = true;
}

}  // namespace unmoor::cli::umount
