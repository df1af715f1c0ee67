// SPDX-License-Identifier: MIT
#include "kernel/procfs_fdinfo.h"

#include <charconv>

#include "kernel/procfs_text.h"

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
    in_ring_files = name == "UserFiles";
  }
  return facts;
}

Result<DescriptorFacts> descriptor_facts(const SystemCalls& calls, int directory, int descriptor) {
  const std::string path = "fdinfo/" + std::to_string(descriptor);
  Result<std::string> text = read_text(calls, directory, path.c_str());
  if (!text) return std::unexpected(text.error());
  return parse_fdinfo(*text);
}

}  // namespace unmoor::kernel
