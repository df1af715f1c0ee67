// SPDX-License-Identifier: MIT
#include "kernel/procfs_fdinfo.h"

#include <array>
#include <charconv>

#include "kernel/procfs_text.h"
#include "kernel/unique_fd.h"

namespace unmoor::kernel {
namespace {

template <typename Number>
void parse(std::string_view text, Number& out, int base = 10) {
  (void)std::from_chars(text.data(), text.data() + text.size(), out, base);
}

// "    0: /path/to/file": one registered file. An empty slot has no line, or says "<none>".
void add_ring_file(std::string_view line, std::vector<std::string>& files) {
  const std::size_t colon = line.find(": ");
  if (colon == std::string_view::npos) return;
  const std::string_view path = line.substr(colon + 2);
  if (path != "<none>") files.push_back(unescape_octal(path));
}

// "inotify wd:1 ino:4f sdev:1d ...": the number is the kernel's own, twenty bits of it the minor one.
std::optional<DeviceNumber> watched_superblock(std::string_view line) {
  constexpr std::string_view kName = " sdev:";
  const std::size_t at = line.find(kName);
  if (at == std::string_view::npos) return std::nullopt;
  std::uint32_t number = 0;
  parse(line.substr(at + kName.size()), number, 16);
  return DeviceNumber{.major = number >> 20, .minor = number & 0xfffff};
}

}  // namespace

DescriptorFacts parse_fdinfo(std::string_view text) {
  DescriptorFacts facts;
  bool in_ring_files = false;  // its lines are indented; the count says slots, and empty ones may have no line
  while (!text.empty()) {
    const std::string_view line = take_until(text, '\n');
    if (in_ring_files && line.starts_with(' ')) {
      add_ring_file(line, facts.ring_files);
      continue;
    }
    std::string_view rest = line;
    const std::string_view name = take_until(rest, ':');
    const std::string_view value = take_word(rest);
    if (name == "mnt_id") parse(value, facts.mount_id);
    if (name == "ino") parse(value, facts.inode);
    if (name == "flags") parse(value, facts.flags, 8);
    if (name == "scm_fds") parse(value, facts.in_flight);
    if (name == "inotify wd") facts.watched = watched_superblock(line);
    in_ring_files = name == "UserFiles";
  }
  return facts;
}

Result<DescriptorFacts> descriptor_facts(const SystemCalls& calls, int directory, int descriptor) {
  const std::string path = "fdinfo/" + std::to_string(descriptor);
  const long fd = calls.openat(directory, path.c_str(), O_RDONLY);
  if (fd < 0) return fail_from(fd, "open", path);
  const UniqueFd owner(static_cast<int>(fd));
  // The kernel shows the file as one record, so that a read that does not fill the buffer has all of it.
  std::array<char, 2048> start;
  const long got = calls.read(owner.get(), start.data(), start.size());
  if (got < 0) return fail_from(got, "read", path);
  std::string_view text(start.data(), static_cast<std::size_t>(got));
  if (text.size() < start.size()) return parse_fdinfo(text);
  const Result<std::string> rest = read_open_text(calls, owner.get(), path.c_str());
  if (!rest) return std::unexpected(rest.error());
  return parse_fdinfo(std::string(text) + *rest);
}

}  // namespace unmoor::kernel
