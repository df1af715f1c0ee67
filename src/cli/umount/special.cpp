// SPDX-License-Identifier: MIT
#include "cli/umount/special.h"

#include <array>
#include <string_view>

#include "kernel/unique_fd.h"

namespace unmoor::cli::umount {
namespace {

constexpr const char* kUtab = "/run/mount/utab";
constexpr std::array kHelperDirectories = {"/sbin/umount.", "/sbin/fs.d/umount.", "/sbin/fs/umount."};

bool exists(const kernel::SystemCalls& calls, const std::string& path) {
  return calls.call(SYS_faccessat, AT_FDCWD, kernel::SystemCalls::pointer(path.c_str()), 0) == 0;
}

// utab writes space, tab, newline and backslash as \ooo.
std::string unescaped(std::string_view text) {
  std::string out;
  const auto digit = [&](std::size_t i) { return i < text.size() && text[i] >= '0' && text[i] <= '7'; };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && digit(i + 1) && digit(i + 2) && digit(i + 3)) {
      out += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace

std::string read_file(const kernel::SystemCalls& calls, const char* path) {
  std::string text;
  const long fd = calls.open(path, O_RDONLY);
  if (fd < 0) return text;
  const kernel::UniqueFd owner(static_cast<int>(fd));
  std::array<char, 4096> part;
  for (;;) {
    const long got = calls.read(owner.get(), part.data(), part.size());
    if (got <= 0) return text;
    text.append(part.data(), static_cast<std::size_t>(got));
  }
}

bool has_helper(const kernel::SystemCalls& calls, const std::string& type) {
  const std::size_t dot = type.find('.');
  for (const char* const directory : kHelperDirectories) {
    if (exists(calls, directory + type)) return true;
    if (dot != std::string::npos && exists(calls, directory + type.substr(0, dot))) return true;
  }
  return false;
}

Utab Utab::read(const kernel::SystemCalls& calls) {
  Utab utab;
  const std::string text = read_file(calls, kUtab);
  std::string_view rest = text;
  constexpr std::string_view kTarget = "TARGET=";
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find_first_of(" \n"), rest.size());
    const std::string_view word = rest.substr(0, end);
    if (word.starts_with(kTarget)) utab.targets_.insert(unescaped(word.substr(kTarget.size())));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return utab;
}

bool Specials::needs_libmount(const kernel::MountEntry& entry) {
  if (options_.read_only) return true;  // what is busy is remounted
  if (utab_.mentions(entry.mount_point)) return true;
  if (options_.detach_loop && entry.device.major == kLoopMajor) return true;
  if (options_.internal_only) return false;
  const std::string type(entry.type);
  const auto [found, is_new] = helper_by_type_.try_emplace(type, false);
  if (is_new) found->second = has_helper(calls_, type);
  return found->second;
}

}  // namespace unmoor::cli::umount
