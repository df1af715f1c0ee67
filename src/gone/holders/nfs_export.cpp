// SPDX-License-Identifier: MIT
// Directories that the kernel's NFS server exports, while it has them in use.
#include "gone/holders/finders.h"
#include "gone/shell_word.h"
#include "kernel/procfs_text.h"

namespace unmoor::gone::holders {

std::vector<KernelUser> find_exports(const kernel::SystemCalls& calls) {
  std::vector<KernelUser> users;
  Result<std::string> text = kernel::read_text(calls, AT_FDCWD, "/proc/fs/nfsd/exports");
  if (!text) text = kernel::read_text(calls, AT_FDCWD, "/proc/fs/nfs/exports");
  std::string_view rest = text ? std::string_view(*text) : std::string_view();
  while (!rest.empty()) {
    // "path<TAB>client(options)"; comments begin with '#'.
    std::string_view line = kernel::take_until(rest, '\n');
    if (line.starts_with('#')) continue;
    std::string path = kernel::unescape_octal(kernel::take_until(line, '\t'));
    std::string client(kernel::take_until(line, '('));
    if (path.empty() || client.empty()) continue;
    std::string release = "exportfs -u " + shell_word(client + ":" + path);
    users.push_back({HolderKind::kExport, std::move(path), {}, "to " + client, std::move(release)});
  }
  return users;
}

}  // namespace unmoor::gone::holders
