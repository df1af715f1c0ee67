// SPDX-License-Identifier: MIT
#include "kernel/procfs_maps.h"

#include <algorithm>
#include <charconv>

#include "kernel/procfs_text.h"
#include "kernel/unique_fd.h"

namespace unmoor::kernel {
namespace {

struct MapQuery {  // struct procmap_query
  std::uint64_t size;
  std::uint64_t flags;
  std::uint64_t address;
  std::uint64_t start;
  std::uint64_t end;
  std::uint64_t mapping_flags;
  std::uint64_t page_size;
  std::uint64_t offset;
  std::uint64_t inode;
  std::uint32_t major;
  std::uint32_t minor;
  std::uint32_t name_size;
  std::uint32_t build_id_size;
  std::uint64_t name;
  std::uint64_t build_id;
};
static_assert(sizeof(MapQuery) == 104);

constexpr unsigned long kQuery = 0xc0686611;        // _IOWR('f', 17, struct procmap_query)
constexpr std::uint64_t kThisOrNext = 0x10 | 0x20;  // PROCMAP_QUERY_COVERING_OR_NEXT_VMA, of files only

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

Result<bool> maps_any_of(const SystemCalls& calls, int maps, const std::vector<DeviceNumber>& devices) {
  for (std::uint64_t address = 0;;) {
    MapQuery query{};
    query.size = sizeof query;
    query.flags = kThisOrNext;
    query.address = address;
    const long result = calls.call(SYS_ioctl, maps, static_cast<long>(kQuery), SystemCalls::pointer(&query));
    if (result == -ENOENT) return false;
    if (result < 0) return fail_from(result, "ioctl(PROCMAP_QUERY)");
    if (std::ranges::find(devices, DeviceNumber{query.major, query.minor}) != devices.end()) return true;
    address = query.end;
  }
}

Result<std::vector<Mapping>> mappings_of(const SystemCalls& calls, int directory,
                                         const std::vector<DeviceNumber>& devices) {
  const long fd = calls.openat(directory, "maps", O_RDONLY);
  if (fd < 0) return fail_from(fd, "open", "maps");
  const UniqueFd maps(static_cast<int>(fd));
  const Result<bool> any = maps_any_of(calls, maps.get(), devices);
  if (any && !*any) return std::vector<Mapping>();
  Result<std::string> text = read_open_text(calls, maps.get(), "maps");
  if (!text) return std::unexpected(text.error());
  return parse_maps(*text, devices);
}

}  // namespace unmoor::kernel
