// SPDX-License-Identifier: MIT
#include "kernel/fuse_connections.h"

#include <charconv>
#include <string>

#include "kernel/procfs_text.h"

namespace unmoor::kernel {

std::optional<std::uint64_t> fuse_requests_waiting(const SystemCalls& calls, const char* directory,
                                                   std::uint32_t connection) {
  const std::string path = std::string(directory) + "/" + std::to_string(connection) + "/waiting";
  const std::string text = read_line(calls, AT_FDCWD, path.c_str());
  std::uint64_t waiting = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), waiting).ec != std::errc{}) return std::nullopt;
  return waiting;
}

}  // namespace unmoor::kernel
