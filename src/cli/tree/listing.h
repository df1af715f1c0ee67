// SPDX-License-Identifier: MIT
// The mounts of a namespace as both sides show them, and the two texts made of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace unmoor::cli::tree {

// One mount. Ids and group numbers mean something only inside one run.
struct Listed {
  std::uint64_t id = 0;
  std::uint64_t parent = 0;
  std::string mount_point;
  std::string root;  // inside the filesystem
  std::string filesystem;
  std::string options;
  std::uint64_t shared = 0;  // peer group; 0: none
  std::uint64_t master = 0;
  bool unbindable = false;
};

using Listing = std::vector<Listed>;  // in mountinfo's order

// For people: one line a mount in the order given, "MOUNTPOINT ROOT FS OPTIONS [shared:N] [master:N] [unbindable]",
// peer groups numbered by first appearance. Blanks and backslashes in paths are escaped as the kernel does.
[[nodiscard]] std::string print_listing(const Listing& listing);

// For comparison: the namespaces' trees, each parent before its children, siblings by mount point, with its depth
// instead of ids; groups numbered by first appearance over all namespaces. Two runs did the same exactly if these texts
// are equal: the order in which mounts were made is the only thing left out.
[[nodiscard]] std::string canonical_text(const std::vector<Listing>& namespaces);

}  // namespace unmoor::cli::tree
