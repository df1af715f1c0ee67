// SPDX-License-Identifier: MIT
#include "cli/who/progress.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <unistd.h>

#include "kernel/device_writes.h"
#include "kernel/dirty_memory.h"

namespace unmoor::cli {
namespace {

std::string mebibytes(double bytes) {
  std::array<char, 32> text{};
  (void)std::snprintf(text.data(), text.size(), "%.*f MiB", bytes < 10 * 1048576.0 ? 1 : 0, bytes / 1048576.0);
  return text.data();
}

}  // namespace

std::string progress_text(std::optional<std::uint64_t> left, bool whole_machine, double bytes_per_second) {
  if (!left) return "waiting";
  std::string text = (whole_machine ? "at most " : "") + mebibytes(static_cast<double>(*left)) + " left";
  if (bytes_per_second >= 1) {
    text += ", " + mebibytes(bytes_per_second) + "/s";
    if (*left > 0)
      text += ", " + std::to_string(static_cast<long>(static_cast<double>(*left) / bytes_per_second) + 1) + " s";
  }
  return text;
}

WriteProgress::WriteProgress(const kernel::SystemCalls& calls, std::optional<kernel::DeviceNumber> device)
    : calls_(calls), device_(device) {
  if (isatty(STDERR_FILENO) != 0) thread_ = std::thread([this] { work(); });
}

WriteProgress::~WriteProgress() {
  if (!thread_.joinable()) return;
  {
    const MutexLock lock(mutex_);
    over_ = true;
    changed_.notify_all();
  }
  thread_.join();
  if (shown_) std::fputs("\r\033[K", stderr);
}

void WriteProgress::work() {
  for (;;) {
    const auto next = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
    MutexLock lock(mutex_);
    while (!over_ && changed_.wait_until(mutex_, next)) {
    }
    if (over_) return;
    lock.unlock();
    show();
  }
}

void WriteProgress::show() {
  std::optional<std::uint64_t> left;
  if (device_) left = kernel::dirty_bytes_of(calls_, "/sys/kernel/debug", *device_);
  const bool whole_machine = !left;
  if (!left) left = kernel::dirty_bytes(calls_);
  const std::optional<std::uint64_t> written = device_ ? kernel::bytes_written(calls_, *device_) : std::nullopt;
  const auto now = std::chrono::steady_clock::now();
  if (written && written_ && *written >= *written_) {
    const double seconds = std::chrono::duration<double>(now - at_).count();
    const double latest = static_cast<double>(*written - *written_) / std::max(seconds, 1e-3);
    rate_ = rate_ == 0 ? latest : rate_ * 0.7 + latest * 0.3;
  }
  written_ = written;
  at_ = now;
  std::fprintf(stderr, "\r\033[K%s", progress_text(left, whole_machine, rate_).c_str());
  shown_ = true;
}

}  // namespace unmoor::cli
