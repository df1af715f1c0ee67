// SPDX-License-Identifier: MIT
#include "gone/known_mounts.h"

#include <algorithm>

#include "kernel/procfs_place.h"

namespace unmoor::gone {
namespace {

// 0: the kernel does not tell it, or the holder let go meanwhile.
std::uint64_t unique_id_of(const kernel::SystemCalls& calls, const Holder& holder) {
  const std::string link = proc_link(holder);
  return link.empty() ? 0 : kernel::unique_mount_id(calls, AT_FDCWD, link.c_str()).value_or(0);
}

}  // namespace

void KnownMounts::remember(const std::vector<Holder>& holders) {
  for (const Holder& holder : holders) {
    if (holder.mount_id == 0) continue;
    std::uint64_t& unique = unique_ids_[holder.mount_id];
    if (unique == 0) unique = unique_id_of(*calls_, holder);
  }
}

// What is seen by its filesystem alone, as a mapping by an ordinary user, has no mount to tell it by, and a mapping has
// no link that tells the unique id of its mount. On a kernel without unique ids the small one has to do.
KnownMounts::Known KnownMounts::look_up(const Holder& holder) const {
  if (holder.mount_id == 0) return Known::kPerhaps;
  const auto known = unique_ids_.find(holder.mount_id);
  if (known == unique_ids_.end()) return Known::kNo;
  if (known->second == 0) return Known::kYes;
  if (proc_link(holder).empty()) return Known::kPerhaps;
  return unique_id_of(*calls_, holder) == known->second ? Known::kYes : Known::kNo;
}

void KnownMounts::leave_out_strangers(std::vector<Holder>& holders) {
  if (std::ranges::any_of(holders, [&](const Holder& holder) { return look_up(holder) == Known::kYes; }))
    remember(holders);
  else
    std::erase_if(holders, [&](const Holder& holder) { return look_up(holder) == Known::kNo; });
}

}  // namespace unmoor::gone
