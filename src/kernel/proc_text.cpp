// SPDX-License-Identifier: MIT
#include "kernel/proc_text.h"

#include <array>

#include "kernel/unique_fd.h"

namespace unmoor::kernel {

Result<std::string> read_text(const SystemCalls& calls, const char* path) {
  const long fd = calls.open(path, O_RDONLY);
  if (fd < 0) return fail_from(fd, "open", path);
  const UniqueFd owner(static_cast<int>(fd));
  std::string text;
  std::array<char, 4096> part;
  for (;;) {
    const long got = calls.read(owner.get(), part.data(), part.size());
    if (got == -EINTR) continue;
    if (got < 0) return fail_from(got, "read", path);
    if (got == 0) return text;
    text.append(part.data(), static_cast<std::size_t>(got));
  }
}

Result<std::string> read_short_link(const SystemCalls& calls, const char* path) {
  std::array<char, 256> text;
  const long size = calls.readlinkat(AT_FDCWD, path, text.data(), text.size());
  if (size < 0) return fail_from(size, "readlink", path);
  if (size == static_cast<long>(text.size())) return fail(ENAMETOOLONG, "readlink", path);
  return std::string(text.data(), static_cast<std::size_t>(size));
}

}  // namespace unmoor::kernel
