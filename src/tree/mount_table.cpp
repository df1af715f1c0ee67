// SPDX-License-Identifier: MIT
#include "tree/mount_table.h"

#include <new>

#include "tree/mount_lock.h"

namespace unmoor::tree {

MountTable::Buckets* MountTable::make(std::size_t size) {
  void* const memory =
      ::operator new(sizeof(Buckets) + size * sizeof(std::atomic<Mount*>), std::align_val_t{64}, std::nothrow);
  if (memory == nullptr) return nullptr;
  auto* const buckets = new (memory) Buckets;
  buckets->mask = size - 1;
  buckets->heads = reinterpret_cast<std::atomic<Mount*>*>(buckets + 1);
  for (std::size_t i = 0; i < size; ++i)
    new (buckets->heads + i) std::atomic<Mount*>(nullptr);
  return buckets;
}

MountTable::~MountTable() {
  Buckets* buckets = buckets_.load(std::memory_order_relaxed);
  while (buckets != nullptr) {
    Buckets* const older = buckets->outgrown;
    ::operator delete(buckets, std::align_val_t{64});
    buckets = older;
  }
}

bool MountTable::init() {
  Buckets* const buckets = make(256);
  buckets_.store(buckets, std::memory_order_release);
  return buckets != nullptr;
}

Mount* MountTable::find(const Mount* parent, std::uint64_t hash, std::string_view path) const {
  const Buckets* const buckets = buckets_.load(std::memory_order_acquire);
  const std::atomic<Mount*>* at = &buckets->heads[index(parent, hash) & buckets->mask];
  for (Mount* mount = at->load(std::memory_order_acquire); mount != nullptr;
       mount = mount->hash_next.load(std::memory_order_acquire)) {
    if (mount->parent.load(std::memory_order_acquire) != parent) continue;
    const Place* const place = mount->mountpoint.load(std::memory_order_acquire);
    if (place != nullptr && place->hash == hash && place->path() == path) return mount;
  }
  return nullptr;
}

Mount* MountTable::find(const Mount* parent, const Place* place) const {
  const Buckets* const buckets = buckets_.load(std::memory_order_acquire);
  for (Mount* mount = buckets->heads[index(parent, place->hash) & buckets->mask].load(std::memory_order_acquire);
       mount != nullptr; mount = mount->hash_next.load(std::memory_order_acquire)) {
    if (mount->parent.load(std::memory_order_acquire) == parent &&
        mount->mountpoint.load(std::memory_order_acquire) == place) {
      return mount;
    }
  }
  return nullptr;
}

void MountTable::insert(Mount* mount) {
  Buckets* const buckets = buckets_.load(std::memory_order_relaxed);
  std::atomic<Mount*>& head = buckets->heads[index(mount->up(), mount->on()->hash) & buckets->mask];
  mount->hash_next.store(head.load(std::memory_order_relaxed), std::memory_order_release);
  head.store(mount, std::memory_order_release);
  ++count_;
}

bool MountTable::remove(Mount* mount) {
  Buckets* const buckets = buckets_.load(std::memory_order_relaxed);
  std::atomic<Mount*>* at = &buckets->heads[index(mount->up(), mount->on()->hash) & buckets->mask];
  for (Mount* seen = at->load(std::memory_order_relaxed); seen != nullptr;
       at = &seen->hash_next, seen = at->load(std::memory_order_relaxed)) {
    if (seen != mount) continue;
    // A walker that stands on `mount` goes on down the chain: its own link stays as it is.
    at->store(mount->hash_next.load(std::memory_order_relaxed), std::memory_order_release);
    --count_;
    return true;
  }
  return false;
}

void MountTable::reserve(std::size_t more, MountLock& lock) {
  Buckets* const old = buckets_.load(std::memory_order_relaxed);
  std::size_t size = old->mask + 1;
  if (count_ + more <= size) return;
  while (size < count_ + more)
    size *= 2;
  Buckets* const bigger = make(size);
  if (bigger == nullptr) return;
  bigger->outgrown = old;
  const MountWrite write(lock);
  for (std::size_t i = 0; i <= old->mask; ++i) {
    Mount* mount = old->heads[i].load(std::memory_order_relaxed);
    // Emptied first, so that a walker in the old table ends in a chain of the new one, or here.
    old->heads[i].store(nullptr, std::memory_order_release);
    while (mount != nullptr) {
      Mount* const next = mount->hash_next.load(std::memory_order_relaxed);
      std::atomic<Mount*>& head = bigger->heads[index(mount->up(), mount->on()->hash) & bigger->mask];
      mount->hash_next.store(head.load(std::memory_order_relaxed), std::memory_order_release);
      head.store(mount, std::memory_order_release);
      mount = next;
    }
  }
  buckets_.store(bigger, std::memory_order_release);
}

}  // namespace unmoor::tree
