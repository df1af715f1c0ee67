// SPDX-License-Identifier: MIT
#include "gone/known_mounts.h"

#include <utility>

#include "kernel/procfs_place.h"

namespace unmoor::gone {
namespace {

// 0: no path leads there, the kernel does not tell it, or the holder let go meanwhile.
std::uint64_t unique_id_at(const kernel::SystemCalls& calls, const std::string& path) {
  return path.empty() ? 0 : kernel::unique_mount_id(calls, AT_FDCWD, path.c_str()).value_or(0);
}

// The kernel itself, by way of a file: a loop device, a swap file, an overlay.
bool is_of_the_kernel(const Holder& holder) {
  return holder.pid == 0 && holder.mount_id == 0 && holder.certainty == Certainty::kCertain;
}

std::tuple<HolderKind, std::string, std::string> name_for(const Holder& holder) {
  return {holder.kind, holder.path, holder.detail};
}

}  // namespace

void KnownMounts::remember(const std::vector<Holder>& holders) {
  for (const Holder& holder : holders) {
    if (is_of_the_kernel(holder)) kernel_holders_.insert(name_for(holder));
    if (holder.mount_id == 0) continue;
    std::uint64_t& unique = unique_ids_[holder.mount_id];
    if (unique == 0) unique = unique_id_at(*calls_, path_to(holder));
  }
}

// What is seen by its filesystem alone, as a mapping by an ordinary user, has no mount to tell it by, and a mapping has
// no link that tells the unique id of its mount. On a kernel without unique ids the small one has to do.
KnownMounts::Known KnownMounts::look_up(const Holder& holder) const {
  if (is_of_the_kernel(holder)) return kernel_holders_.contains(name_for(holder)) ? Known::kPerhaps : Known::kNo;
  if (holder.mount_id == 0) return Known::kPerhaps;
  const auto known = unique_ids_.find(holder.mount_id);
  if (known == unique_ids_.end()) return Known::kNo;
  if (known->second == 0) return Known::kYes;
  const std::string path = path_to(holder);
  if (path.empty()) return Known::kPerhaps;
  return unique_id_at(*calls_, path) == known->second ? Known::kYes : Known::kNo;
}

void KnownMounts::leave_out_strangers(std::vector<Holder>& holders) {
  std::vector<Holder> known;
  for (const Holder& holder : holders) {
    const Known looked_up = look_up(holder);
    if (looked_up == Known::kYes) return remember(holders);
    if (looked_up == Known::kPerhaps) known.push_back(holder);
  }
  holders = std::move(known);
}

}  // namespace unmoor::gone
