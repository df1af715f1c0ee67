// SPDX-License-Identifier: MIT
#include "kernel/device_writes.h"

#include <charconv>
#include <string>

#include "kernel/procfs_text.h"

namespace unmoor::kernel {

std::optional<std::uint64_t> bytes_written(const SystemCalls& calls, DeviceNumber device) {
  const std::string path =
      "/sys/dev/block/" + std::to_string(device.major) + ":" + std::to_string(device.minor) + "/stat";
  const Result<std::string> text = read_text(calls, AT_FDCWD, path.c_str());
  if (!text) return std::nullopt;
  std::string_view rest = *text;
  for (int field = 0; field < 6; ++field)
    (void)take_word(rest);
  const std::string_view sectors = take_word(rest);
  std::uint64_t count = 0;
  const auto [end, error] = std::from_chars(sectors.data(), sectors.data() + sectors.size(), count);
  return error == std::errc{} ? std::optional(count * 512) : std::nullopt;
}

}  // namespace unmoor::kernel
