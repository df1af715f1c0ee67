// SPDX-License-Identifier: MIT
// binfmt_misc entries with flag F keep their interpreter open from registration on.
#include "gone/holders/finders.h"
#include "gone/shell_word.h"
#include "kernel/procfs_directory.h"
#include "kernel/procfs_text.h"
#include "kernel/pseudo_filesystem.h"

namespace unmoor::gone::holders {
namespace {

struct Format {
  std::string interpreter;
  bool keeps_open = false;
};

Format parse_format(std::string_view text) {
  Format format;
  while (!text.empty()) {
    std::string_view line = kernel::take_until(text, '\n');
    const std::string_view name = kernel::take_until(line, ' ');
    if (name == "interpreter") format.interpreter = std::string(line);
    if (name == "flags:") format.keeps_open = line.find('F') != std::string_view::npos;
  }
  return format;
}

}  // namespace

std::vector<KernelUser> find_binary_formats(const kernel::SystemCalls& calls) {
  constexpr const char* kUsualPlace = "/proc/sys/fs/binfmt_misc";
  std::vector<KernelUser> users;
  const Result<kernel::UniqueFd> root = kernel::open_pseudo_filesystem(calls, "binfmt_misc", kUsualPlace, "register");
  if (!root) return users;
  (void)kernel::for_each_name(calls, root->get(), ".", [&](std::string_view name) {
    if (name == "register" || name == "status") return;
    const Result<std::string> text = kernel::read_text(calls, root->get(), name.data());
    Format format = text ? parse_format(*text) : Format{};
    if (!format.keeps_open) return;
    std::string release = "echo -1 > " + shell_word(std::string(kUsualPlace) + "/" + std::string(name));
    users.push_back(
        {HolderKind::kBinaryFormat, std::move(format.interpreter), {}, std::string(name), std::move(release)});
  });
  return users;
}

}  // namespace unmoor::gone::holders
