// SPDX-License-Identifier: MIT
// Files registered with io_uring: they stay open when every descriptor is closed. fdinfo of the ring names them.
#include "gone/holders/finders.h"
#include "kernel/procfs_text.h"

namespace unmoor::gone::holders {

void find_ring_files(const ProcessView& view, int descriptor, Sightings& out) {
  const std::string link = "fd/" + std::to_string(descriptor);
  const Result<std::string> text = kernel::read_link(*view.calls, view.directory, link.c_str());
  if (!text || *text != "anon_inode:[io_uring]") return;
  // The kernel leaves the list out when the ring is busy at that moment: ask again.
  for (int attempt = 0; attempt < 5; ++attempt) {
    Result<kernel::DescriptorFacts> facts = kernel::descriptor_facts(*view.calls, view.directory, descriptor);
    if (!facts) return;
    for (std::string& path : facts->ring_files) {
      out.seen.push_back({.kind = HolderKind::kRingFile,
                          .pid = view.pid,
                          .tid = view.tid,
                          .descriptor = descriptor,
                          .place = {},
                          .known_mount = false,
                          .path = std::move(path),
                          .detail = {},
                          .name_space = view.name_space});
    }
    if (!facts->ring_files.empty()) return;
  }
}

}  // namespace unmoor::gone::holders
