// SPDX-License-Identifier: MIT
#include "kernel/procfs_directory.h"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

namespace unmoor::kernel {
namespace {

// Large enough that a table of a thousand descriptors is one call.
constexpr std::size_t kBufferSize = 65536;

struct DirectoryEntry {  // struct linux_dirent64, up to the name
  std::uint64_t inode;
  std::int64_t offset;
  std::uint16_t length;
  std::uint8_t type;
  char name[1];
};

}  // namespace

Result<UniqueFd> open_directory(const SystemCalls& calls, int parent, const char* path) {
  const long fd = calls.openat(parent, path, O_RDONLY | O_DIRECTORY);
  if (fd < 0) return fail_from(fd, "open", path);
  return UniqueFd(static_cast<int>(fd));
}

Result<void> for_each_name(const SystemCalls& calls, int directory,
                           const std::function<void(std::string_view)>& visit) {
  // One buffer per thread: a scan reads thousands of directories. A visitor that reads a directory of its own would
  // overwrite it, so the buffer is taken for the time of the call.
  thread_local std::unique_ptr<char[]> spare;  // NOLINT(misc-use-internal-linkage): it is a local
  std::unique_ptr<char[]> buffer = std::move(spare);
  if (!buffer) buffer = std::make_unique_for_overwrite<char[]>(kBufferSize);
  Result<void> outcome{};
  for (;;) {
    const long got = calls.call(SYS_getdents64, directory, SystemCalls::pointer(buffer.get()), kBufferSize);
    if (got < 0) outcome = fail_from(got, "getdents64");
    if (got <= 0) break;
    for (long at = 0; at < got;) {
      const char* const record = buffer.get() + at;
      std::uint16_t length = 0;
      std::memcpy(&length, record + offsetof(DirectoryEntry, length), sizeof length);
      const std::string_view name(record + offsetof(DirectoryEntry, name));
      if (name != "." && name != "..") visit(name);
      at += length;
    }
  }
  spare = std::move(buffer);
  return outcome;
}

Result<void> for_each_name(const SystemCalls& calls, int parent, const char* path,
                           const std::function<void(std::string_view)>& visit) {
  Result<UniqueFd> directory = open_directory(calls, parent, path);
  if (!directory) return std::unexpected(directory.error());
  return for_each_name(calls, directory->get(), visit);
}

int numeric_name(std::string_view name) {
  int number = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  return error == std::errc{} && end == name.data() + name.size() ? number : -1;
}

}  // namespace unmoor::kernel
