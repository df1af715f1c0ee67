// SPDX-License-Identifier: MIT
#include "tree/ns.h"

namespace unmoor::tree {

void Ns::add(Mount* mount) {
  // New mounts have the highest ids; a detached tree that is older than the rest looks for its place.
  Mount* before = mounts.back();
  while (before != nullptr && before->id > mount->id)
    before = mounts.previous(before);
  if (before == nullptr) {
    mounts.push_front(mount);
  } else {
    mounts.insert_after(before, mount);
  }
  mount->ns.store(this, std::memory_order_release);
}

void Ns::remove(Mount* mount) {
  List<Mount, NsTag>::remove(mount);
}

}  // namespace unmoor::tree
