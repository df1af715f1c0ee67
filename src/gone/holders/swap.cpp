// SPDX-License-Identifier: MIT
// Swap files and swap devices, from /proc/swaps.
#include "gone/holders/finders.h"
#include "gone/shell_word.h"
#include "kernel/procfs_text.h"

namespace unmoor::gone::holders {

std::vector<KernelUser> find_swap(const kernel::SystemCalls& calls) {
  std::vector<KernelUser> users;
  const Result<std::string> text = kernel::read_text(calls, AT_FDCWD, "/proc/swaps");
  std::string_view rest = text ? std::string_view(*text) : std::string_view();
  (void)kernel::take_until(rest, '\n');  // the heading
  while (!rest.empty()) {
    std::string_view line = kernel::take_until(rest, '\n');
    std::string path = kernel::unescape_octal(kernel::take_word(line));
    std::string detail(kernel::take_word(line));  // "file", "partition"
    std::string release = "swapoff " + shell_word(path);
    users.push_back({HolderKind::kSwap, std::move(path), {}, std::move(detail), std::move(release)});
  }
  return users;
}

}  // namespace unmoor::gone::holders
