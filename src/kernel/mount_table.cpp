// SPDX-License-Identifier: MIT
#include "kernel/mount_table.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "kernel/unique_fd.h"

namespace unmoor::kernel {
namespace {

// Takes the next field, ended by a space or the end of the line.
std::string_view next_field(std::string_view& line) {
  const std::size_t end = std::min(line.find(' '), line.size());
  const std::string_view field = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return field;
}

template <typename Number>
bool parse_number(std::string_view text, Number& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size();
}

bool parse_device(std::string_view text, DeviceNumber& out) {
  const std::size_t colon = text.find(':');
  return colon != std::string_view::npos && parse_number(text.substr(0, colon), out.major) &&
         parse_number(text.substr(colon + 1), out.minor);
}

// The kernel writes space, tab, newline, backslash and '#' as \ooo. Undone in place: the text only gets shorter.
std::string_view unescape(std::string_view field) {
  if (field.find('\\') == std::string_view::npos) return field;
  char* const begin = const_cast<char*>(field.data());  // NOLINT: the text is MountTable's own buffer
  char* out = begin;
  const auto octal = [](char c) { return c >= '0' && c <= '7'; };
  for (std::size_t i = 0; i < field.size();) {
    if (field[i] == '\\' && i + 3 < field.size() && octal(field[i + 1]) && octal(field[i + 2]) && octal(field[i + 3])) {
      *out++ = static_cast<char>((field[i + 1] - '0') * 64 + (field[i + 2] - '0') * 8 + (field[i + 3] - '0'));
      i += 4;
    } else {
      *out++ = field[i++];
    }
  }
  return {begin, static_cast<std::size_t>(out - begin)};
}

// "shared:N", "master:N", "propagate_from:N", "unbindable"; unknown ones are left alone, as the manual page asks.
void parse_optional_field(std::string_view field, MountEntry& entry) {
  const std::size_t colon = field.find(':');
  const std::string_view tag = field.substr(0, colon);
  int group = 0;
  if (colon != std::string_view::npos && !parse_number(field.substr(colon + 1), group)) return;
  if (tag == "shared") entry.shared_group = group;
  if (tag == "master") entry.master_group = group;
  if (tag == "propagate_from") entry.propagate_from = group;
  if (tag == "unbindable") entry.unbindable = true;
}

std::optional<MountEntry> parse_line(std::string_view line) {
  MountEntry entry;
  if (!parse_number(next_field(line), entry.id) || !parse_number(next_field(line), entry.parent_id) ||
      !parse_device(next_field(line), entry.device)) {
    return std::nullopt;
  }
  entry.root = unescape(next_field(line));
  entry.mount_point = unescape(next_field(line));
  entry.options = next_field(line);
  for (;;) {
    if (line.empty()) return std::nullopt;
    const std::string_view field = next_field(line);
    if (field == "-") break;
    parse_optional_field(field, entry);
  }
  entry.type = unescape(next_field(line));
  entry.source = unescape(next_field(line));
  entry.super_options = next_field(line);
  return entry;
}

}  // namespace

void MountTable::Free::operator()(char* text) const {
  std::free(text);  // NOLINT: realloc's
}

Result<MountTable> MountTable::read(const SystemCalls& calls, const char* path) {
  const long fd = calls.open(path, O_RDONLY);
  if (fd < 0) return fail_from(fd, "open", path);
  const UniqueFd owner(static_cast<int>(fd));
  return read(calls, owner.get());
}

Result<MountTable> MountTable::read(const SystemCalls& calls, int fd) {
  // Grown by realloc, which moves pages and not bytes: a table may have megabytes.
  std::size_t size = 8192;
  Text text;
  std::size_t used = 0;
  for (;;) {
    if (text == nullptr || size - used < 8192) {
      char* const larger = static_cast<char*>(std::realloc(text.get(), size * 2));  // NOLINT: owned by `text` below
      if (larger == nullptr) return fail(ENOMEM, "read", "mountinfo");
      static_cast<void>(text.release());
      text.reset(larger);
      size *= 2;
    }
    const long got = calls.read(fd, text.get() + used, size - used);
    if (got == -EINTR) continue;
    if (got < 0) return fail_from(got, "read", "mountinfo");
    if (got == 0) break;
    used += static_cast<std::size_t>(got);
  }
  MountTable table(std::move(text), used);
  if (!table.parse_lines()) return fail(EINVAL, "parse", "mountinfo");
  return table;
}

Result<MountTable> MountTable::read_again(const SystemCalls& calls, int fd) {
  if (const long moved = calls.call(SYS_lseek, fd, 0, SEEK_SET); moved < 0)
    return fail_from(moved, "lseek", "mountinfo");
  return read(calls, fd);
}

Result<MountTable> MountTable::parse(std::string_view text) {
  Text copy(static_cast<char*>(std::malloc(text.size() + 1)));  // NOLINT: as in read()
  if (copy == nullptr) return fail(ENOMEM, "parse", "mountinfo");
  std::ranges::copy(text, copy.get());
  MountTable table(std::move(copy), text.size());
  if (!table.parse_lines()) return fail(EINVAL, "parse", "mountinfo");
  return table;
}

bool MountTable::parse_lines() {
  std::string_view rest(text_.get(), size_);
  entries_.reserve(static_cast<std::size_t>(std::count(rest.begin(), rest.end(), '\n')));
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::optional<MountEntry> entry = parse_line(rest.substr(0, end));
    if (!entry) return false;
    entries_.push_back(*entry);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return true;
}

const MountEntry* MountTable::by_id(int id) const {
  const auto found = std::ranges::find(entries_, id, &MountEntry::id);
  return found == entries_.end() ? nullptr : &*found;
}

}  // namespace unmoor::kernel
