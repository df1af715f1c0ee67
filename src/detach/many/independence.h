// SPDX-License-Identifier: MIT
// Which unmounts of a list may run at the same time.
//
// Two mounts are independent when neither lies above the other and unmounting one cannot reach the other, or what the
// other hangs on, by propagation. Propagation stays within one filesystem: an unmount at some place of a filesystem
// reaches the mounts at the same place of that filesystem under other mounts of it. So a mount is *tangled* if it, or
// a mount above it, hangs (under a shared or slave parent) at a place of a filesystem at which another mount of the
// table hangs too. Tangled mounts are unmounted one after the other. (Peers unmounted at the same time answer EBUSY,
// and some pairs leave both mounts in place.)
#pragma once

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "detach/many/many.h"
#include "detach/many/subtree.h"

namespace unmoor::detach {

class Tangles {
 public:
  Tangles(const kernel::MountTable& table, const MountTree& tree);
  [[nodiscard]] bool tangled(const kernel::MountEntry& entry) const { return tangled_.contains(entry.id); }

 private:
  std::unordered_set<int> tangled_;
};

// For each mount of the list: how many others of the list must be done first, and which ones wait for it. Of two that
// are not independent the earlier one in the list goes first.
struct Waits {
  std::vector<std::uint32_t> count;
  std::vector<std::vector<std::uint32_t>> followers;
};

[[nodiscard]] Waits waits_of(MountList list, const MountTree& tree, const Tangles& tangles);

}  // namespace unmoor::detach
