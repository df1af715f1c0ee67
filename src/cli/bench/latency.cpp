// SPDX-License-Identifier: MIT
#include "cli/bench/latency.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "cli/bench/own_calls.h"
#include "measure/command.h"
#include "measure/interrupt.h"

namespace unmoor::cli::bench {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::microseconds kControlPause{20};
constexpr std::chrono::milliseconds kTooEarly{1};
constexpr double kShortest = 1e-6;  // seconds: less cannot be told by this control

// True once the process has an inotify watch and its first thread sleeps: it waits for the filesystem's end.
bool is_waiting(pid_t pid) {
  const std::string process = "/proc/" + std::to_string(pid);
  std::error_code ignored;
  bool armed = false;
  for (const auto& entry : std::filesystem::directory_iterator(process + "/fdinfo", ignored)) {
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);)
      armed = armed || line.starts_with("inotify wd:");
  }
  std::ifstream status(process + "/task/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(status, text);
  const std::size_t end = text.rfind(") ");
  return armed && end != std::string::npos && text.compare(end + 2, 1, "S") == 0;
}

// When the device was first seen free.
Clock::time_point control(const std::string& device) {
  for (;;) {
    const kernel::UniqueFd fd(open(device.c_str(), O_RDONLY | O_EXCL | O_CLOEXEC));
    if (fd || measure::interrupted() != 0) return Clock::now();
    std::this_thread::sleep_for(kControlPause);
  }
}

Result<void> write_dirty(std::uint64_t bytes) {
  std::ofstream file("mnt/dirty", std::ios::binary);
  const std::string block(1 << 20, 'u');
  for (std::uint64_t written = 0; written < bytes; written += block.size())
    file << block;
  if (!file.flush()) return fail(EIO, "write", "mnt/dirty");
  return {};
}

}  // namespace

Result<std::shared_ptr<WaitForDevice>> WaitForDevice::make(std::string unmoor, std::uint64_t dirty_bytes) {
  Result<measure::LoopDevice> loop = measure::LoopDevice::make((64 << 20) + 2 * dirty_bytes);
  if (!loop) return std::unexpected(loop.error());
  const Result<void> formatted =
      measure::run_command({"mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", loop->path()});
  if (!formatted) return std::unexpected(formatted.error());
  return std::shared_ptr<WaitForDevice>(new WaitForDevice(std::move(unmoor), dirty_bytes, std::move(*loop)));
}

WaitForDevice::~WaitForDevice() {
  (void)clean_up();
}

Result<void> WaitForDevice::prepare() {
  if (mount(loop_.path().c_str(), "mnt", "ext4", 0, nullptr) != 0) return fail(errno, "mount ext4", "mnt");
  if (const Result<void> written = write_dirty(dirty_bytes_); !written) return written;
  holder_.reset(open("mnt/held", O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!holder_) return fail(errno, "open", "mnt/held");
  return unmount(kPoint, MNT_DETACH);
}

Result<pid_t> WaitForDevice::start_waiting() {
  std::string device = loop_.path();
  std::array<std::string, 4> words{unmoor_, "wait", "--timeout=60", device};
  const std::array<char*, 5> argv{words[0].data(), words[1].data(), words[2].data(), words[3].data(), nullptr};
  pid_t child = 0;
  const int refused = posix_spawn(&child, unmoor_.c_str(), nullptr, nullptr, argv.data(), environ);
  if (refused != 0) return fail(refused, "run", unmoor_);
  while (!is_waiting(child) && measure::interrupted() == 0) {
    if (waitpid(child, nullptr, WNOHANG) == child) return fail(EPROTO, "wait for", "a held device: it did not wait");
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // from the watch to the poll of it
  return child;
}

Result<double> WaitForDevice::run() {
  const Result<pid_t> child = start_waiting();
  if (!child) return std::unexpected(child.error());
  Clock::time_point free;
  std::thread watcher([&] { free = control(loop_.path()); });
  // The last reference: the filesystem shuts down in here.
  std::thread releaser([&] { holder_.reset(); });
  int status = 0;
  while (waitpid(*child, &status, 0) < 0 && errno == EINTR)
    kill(*child, SIGTERM);
  const Clock::time_point ended = Clock::now();
  // The watcher may have been kept from a processor: this thread has one.
  const Clock::time_point seen_here = control(loop_.path());
  releaser.join();
  watcher.join();
  if (measure::interrupted() != 0) return fail(EINTR, "run");
  if (status != 0) return fail(EIO, "run", fmt::format("{} wait: status {}", unmoor_, status));
  free = std::min(free, seen_here);
  if (free > ended + kTooEarly) return fail(EPROTO, "wait", "it ended before the device was free");
  return std::max(std::chrono::duration<double>(ended - free).count(), kShortest);
}

Result<void> WaitForDevice::clean_up() {
  holder_.reset();
  (void)leave_nothing_mounted(kPoint);
  return loop_.wait_until_free(std::chrono::minutes(1));
}

}  // namespace unmoor::cli::bench
