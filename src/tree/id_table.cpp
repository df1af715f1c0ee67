// SPDX-License-Identifier: MIT
#include "tree/id_table.h"

#include <new>
#include <utility>

namespace unmoor::tree {

bool IdTable::init() {
  buckets_.reset(new (std::nothrow) Mount*[256]{});
  mask_ = 255;
  return buckets_ != nullptr;
}

void IdTable::grow() {
  const std::size_t size = (mask_ + 1) * 2;
  std::unique_ptr<Mount*[]> bigger(new (std::nothrow) Mount* [size] {});
  if (bigger == nullptr) return;
  bigger.swap(buckets_);
  const std::size_t old_size = std::exchange(mask_, size - 1) + 1;
  for (std::size_t i = 0; i < old_size; ++i) {
    for (Mount* mount = bigger[i]; mount != nullptr;) {
      Mount* const next = mount->id_next;
      mount->id_next = std::exchange(buckets_[bucket(mount->id)], mount);
      mount = next;
    }
  }
}

void IdTable::insert(Mount* mount) {
  if (count_ > mask_) grow();
  mount->id_next = std::exchange(buckets_[bucket(mount->id)], mount);
  ++count_;
}

void IdTable::remove(Mount* mount) {
  Mount** at = &buckets_[bucket(mount->id)];
  while (*at != mount)
    at = &(*at)->id_next;
  *at = mount->id_next;
  --count_;
}

Mount* IdTable::find(std::uint64_t id) const {
  Mount* mount = buckets_[bucket(id)];
  while (mount != nullptr && mount->id != id)
    mount = mount->id_next;
  return mount;
}

}  // namespace unmoor::tree
