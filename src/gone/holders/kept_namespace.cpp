// SPDX-License-Identifier: MIT
// A mount namespace kept alive by a descriptor of its nsfs file, with or without processes in it.
#include "gone/holders/finders.h"
#include "kernel/procfs_text.h"

namespace unmoor::gone::holders {

void find_kept_namespace(const ProcessView& view, int descriptor, Sightings& out) {
  const std::string link = "fd/" + std::to_string(descriptor);
  const Result<std::string> text = kernel::read_link(*view.calls, view.directory, link.c_str());
  const kernel::NamespaceInode inode = text ? kernel::parse_mount_namespace_link(*text) : 0;
  if (inode != 0) out.namespaces.push_back({inode, view.pid, view.tid, descriptor});
}

}  // namespace unmoor::gone::holders
