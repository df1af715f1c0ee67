// SPDX-License-Identifier: MIT
#include "kernel/procfs_text.h"

#include <algorithm>
#include <array>

#include <climits>

#include "kernel/unique_fd.h"

namespace unmoor::kernel {

Result<std::string> read_text(const SystemCalls& calls, int parent, const char* path) {
  const long fd = calls.openat(parent, path, O_RDONLY);
  if (fd < 0) return fail_from(fd, "open", path);
  const UniqueFd owner(static_cast<int>(fd));
  return read_open_text(calls, owner.get(), path);
}

Result<std::string> read_open_text(const SystemCalls& calls, int fd, const char* path) {
  std::string text;
  std::size_t used = 0;
  for (;;) {
    if (text.size() - used < 4096) text.resize(std::max<std::size_t>(8192, text.size() * 2));
    const long got = calls.read(fd, text.data() + used, text.size() - used);
    if (got == -EINTR) continue;
    if (got < 0) return fail_from(got, "read", path);
    if (got == 0) break;
    used += static_cast<std::size_t>(got);
  }
  text.resize(used);
  return text;
}

std::string read_line(const SystemCalls& calls, int parent, const char* path) {
  Result<std::string> text = read_text(calls, parent, path);
  if (!text) return {};
  text->resize(std::min(text->find('\n'), text->size()));
  return std::move(*text);
}

Result<std::string> read_link(const SystemCalls& calls, int parent, const char* path) {
  std::array<char, PATH_MAX> buffer;
  const long length = calls.readlinkat(parent, path, buffer.data(), buffer.size());
  if (length < 0) return fail_from(length, "readlink", path);
  return std::string(buffer.data(), static_cast<std::size_t>(length));
}

std::string_view take_until(std::string_view& rest, char separator) {
  const std::size_t end = std::min(rest.find(separator), rest.size());
  const std::string_view taken = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return taken;
}

std::string_view take_word(std::string_view& rest) {
  const std::size_t begin = std::min(rest.find_first_not_of(" \t"), rest.size());
  rest.remove_prefix(begin);
  const std::size_t end = std::min(rest.find_first_of(" \t"), rest.size());
  const std::string_view taken = rest.substr(0, end);
  rest.remove_prefix(end);
  return taken;
}

std::string unescape_octal(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  const auto octal = [](char c) { return c >= '0' && c <= '7'; };
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == '\\' && i + 3 < text.size() && octal(text[i + 1]) && octal(text[i + 2]) && octal(text[i + 3])) {
      out.push_back(static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0')));
      i += 4;
    } else {
      out.push_back(text[i++]);
    }
  }
  return out;
}

}  // namespace unmoor::kernel
