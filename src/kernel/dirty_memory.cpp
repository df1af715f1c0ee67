// SPDX-License-Identifier: MIT
#include "kernel/dirty_memory.h"

#include <charconv>
#include <string>
#include <string_view>

#include "kernel/procfs_text.h"

namespace unmoor::kernel {
namespace {

// "Name:   123 kB" lines; the sum of the two that count, in bytes. Empty unless both are there.
std::optional<std::uint64_t> sum_of(const SystemCalls& calls, const char* path, std::string_view dirty,
                                    std::string_view writeback) {
  const Result<std::string> text = read_text(calls, AT_FDCWD, path);
  if (!text) return std::nullopt;
  std::uint64_t kilobytes = 0;
  int found = 0;
  std::string_view rest = *text;
  while (!rest.empty()) {
    std::string_view line = take_until(rest, '\n');
    const std::string_view name = take_until(line, ':');
    if (name != dirty && name != writeback) continue;
    const std::string_view number = take_word(line);
    std::uint64_t value = 0;
    if (std::from_chars(number.data(), number.data() + number.size(), value).ec != std::errc{}) return std::nullopt;
    kilobytes += value;
    ++found;
  }
  if (found != 2) return std::nullopt;
  return kilobytes * 1024;
}

}  // namespace

std::optional<std::uint64_t> dirty_bytes(const SystemCalls& calls, const char* meminfo) {
  return sum_of(calls, meminfo, "Dirty", "Writeback");
}

std::optional<std::uint64_t> dirty_bytes_of(const SystemCalls& calls, const char* debugfs, DeviceNumber device) {
  const std::string path =
      std::string(debugfs) + "/bdi/" + std::to_string(device.major) + ":" + std::to_string(device.minor) + "/stats";
  return sum_of(calls, path.c_str(), "BdiReclaimable", "BdiWriteback");
}

}  // namespace unmoor::kernel
