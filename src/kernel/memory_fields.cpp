// SPDX-License-Identifier: MIT
#include "kernel/memory_fields.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "kernel/procfs_text.h"

namespace unmoor::kernel {

std::optional<std::uint64_t> sum_of_fields(const SystemCalls& calls, const char* path,
                                           std::initializer_list<std::string_view> names) {
  const Result<std::string> text = read_text(calls, AT_FDCWD, path);
  if (!text) return std::nullopt;
  std::uint64_t kilobytes = 0;
  std::size_t found = 0;
  std::string_view rest = *text;
  while (!rest.empty()) {
    std::string_view line = take_until(rest, '\n');
    if (std::ranges::find(names, take_until(line, ':')) == names.end()) continue;
    const std::string_view number = take_word(line);
    std::uint64_t value = 0;
    if (std::from_chars(number.data(), number.data() + number.size(), value).ec != std::errc{}) return std::nullopt;
    kilobytes += value;
    ++found;
  }
  if (found != names.size()) return std::nullopt;
  return kilobytes * 1024;
}

}  // namespace unmoor::kernel
