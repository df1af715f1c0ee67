// SPDX-License-Identifier: MIT
#include <utility>

#include <unmoor/tree/pin.h>

#include "tree/ns_life.h"
#include "tree/put.h"

namespace unmoor::tree {

Pin::Pin(const Pin& other) : mount_(other.mount_), path_(other.path_) {
  if (mount_ != nullptr) mount_->counts.get();
}

Pin::Pin(Pin&& other) noexcept : mount_(std::exchange(other.mount_, nullptr)), path_(std::move(other.path_)) {}

Pin& Pin::operator=(const Pin& other) {
  Pin copy(other);
  return *this = std::move(copy);
}

Pin& Pin::operator=(Pin&& other) noexcept {
  if (this == &other) return *this;
  Mount* const old = std::exchange(mount_, std::exchange(other.mount_, nullptr));
  path_ = std::move(other.path_);
  if (old != nullptr && !old->superblock->core->fork_guard.forked()) put(*old->superblock->core, old);
  return *this;
}

Pin::~Pin() {
  reset();
}

void Pin::reset() {
  Mount* const old = std::exchange(mount_, nullptr);
  if (old != nullptr && !old->superblock->core->fork_guard.forked()) put(*old->superblock->core, old);
}

MountId Pin::mount() const {
  return MountId{mount_->id};
}

Filesystem& Pin::filesystem() const {
  return *mount_->superblock->filesystem;
}

MountOptions Pin::options() const {
  return to_options(mount_->flags.load(std::memory_order_relaxed));
}

bool Pin::attached() const {
  return mount_->ns.load(std::memory_order_acquire) != nullptr;
}

}  // namespace unmoor::tree
