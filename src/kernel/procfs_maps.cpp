// SPDX-License-Identifier: MIT
#include "kernel/procfs_maps.h"

#include <algorithm>
#include <charconv>

#include "kernel/procfs_text.h"

namespace unmoor::kernel {
namespace {

bool parse_device(std::string_view text, DeviceNumber& out) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return false;
  const char* const end = text.data() + text.size();
  return std::from_chars(text.data(), text.data() + colon, out.major, 16).ec == std::errc{} &&
         std::from_chars(text.data() + colon + 1, end, out.minor, 16).ec == std::errc{};
}

}  // namespace

std::vector<Mapping> parse_maps(std::string_view text, const std::vector<DeviceNumber>& devices) {
  std::vector<Mapping> found;
  while (!text.empty()) {
    // "start-end perms offset major:minor inode   path"; a newline in the path is printed as \012.
    std::string_view line = take_until(text, '\n');
    const std::string_view range = take_word(line);
    (void)take_word(line);
    (void)take_word(line);
    const std::string_view device_text = take_word(line);
    if (device_text == "00:00") continue;  // anonymous memory: most of the lines
    DeviceNumber device;
    if (!parse_device(device_text, device) || std::ranges::find(devices, device) == devices.end()) continue;
    Mapping mapping{.range = std::string(range), .device = device, .inode = 0, .path = {}};
    const std::string_view inode = take_word(line);
    (void)std::from_chars(inode.data(), inode.data() + inode.size(), mapping.inode);
    const bool known = std::ranges::any_of(
        found, [&](const Mapping& other) { return other.device == device && other.inode == mapping.inode; });
    if (known) continue;
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    mapping.path = unescape_octal(line);
    found.push_back(std::move(mapping));
  }
  return found;
}

Result<std::vector<Mapping>> mappings_of(const SystemCalls& calls, int directory,
                                         const std::vector<DeviceNumber>& devices) {
  Result<std::string> text = read_text(calls, directory, "maps");
  if (!text) return std::unexpected(text.error());
  return parse_maps(*text, devices);
}

}  // namespace unmoor::kernel
