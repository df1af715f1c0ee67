// SPDX-License-Identifier: MIT
#include "tree/place.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include "tree/superblock.h"

namespace unmoor::tree {

PlaceTable::~PlaceTable() {
  std::free(static_cast<void*>(buckets_));
}

std::size_t PlaceTable::bucket(const Superblock* superblock, std::uint64_t hash) const {
  return (hash ^ (reinterpret_cast<std::uintptr_t>(superblock) >> 6)) & mask_;
}

// On the mount path only; without memory the chains just get longer.
bool PlaceTable::grow() {
  const std::size_t size = buckets_ == nullptr ? 256 : (mask_ + 1) * 2;
  auto** const bigger = static_cast<Place**>(std::calloc(size, sizeof(Place*)));
  if (bigger == nullptr) return buckets_ != nullptr;
  Place** const old = buckets_;
  const std::size_t old_size = old == nullptr ? 0 : mask_ + 1;
  buckets_ = bigger;
  mask_ = size - 1;
  for (std::size_t i = 0; i < old_size; ++i) {
    for (Place* place = old[i]; place != nullptr;) {
      Place* const next = place->next_in_bucket;
      Place*& head = buckets_[bucket(place->superblock, place->hash)];
      place->next_in_bucket = head;
      head = place;
      place = next;
    }
  }
  std::free(static_cast<void*>(old));
  return true;
}

Place* PlaceTable::get(Superblock* superblock, std::string_view path, std::uint64_t hash) {
  MutexLock lock(mutex_);
  if ((buckets_ == nullptr || count_ > mask_) && !grow()) return nullptr;
  Place*& head = buckets_[bucket(superblock, hash)];
  for (Place* place = head; place != nullptr; place = place->next_in_bucket) {
    if (place->hash == hash && place->superblock == superblock && place->path() == path) {
      place->references.fetch_add(1, std::memory_order_relaxed);
      return place;
    }
  }
  void* const memory = ::operator new(sizeof(Place) + path.size(), std::nothrow);
  if (memory == nullptr) return nullptr;
  auto* const place = new (memory) Place;
  std::memcpy(static_cast<char*>(memory) + sizeof(Place), path.data(), path.size());
  superblock->ref();
  place->superblock = superblock;
  place->what = Retired::What::kPlace;
  place->hash = hash;
  place->length = static_cast<std::uint32_t>(path.size());
  place->references.store(1, std::memory_order_relaxed);
  place->kind = superblock->filesystem->kind(place->shown());
  place->next_in_bucket = head;
  head = place;
  ++count_;
  return place;
}

bool PlaceTable::put(Place* place) {
  // The last reference is given up under the lock, so that get() never finds a place that is being freed.
  std::uint32_t seen = place->references.load(std::memory_order_relaxed);
  while (seen > 1) {
    if (place->references.compare_exchange_weak(seen, seen - 1, std::memory_order_acq_rel)) return false;
  }
  MutexLock lock(mutex_);
  return put_locked(place);
}

RetiredChain PlaceTable::put(std::span<Place* const> places) {
  RetiredChain chain;
  MutexLock lock(mutex_);
  // Two rounds ahead of what will be asked: the buckets, then what they begin with.
  for (const Place* const place : places)
    __builtin_prefetch(&buckets_[bucket(place->superblock, place->hash)], 1);
  for (const Place* const place : places)
    __builtin_prefetch(&buckets_[bucket(place->superblock, place->hash)]->next_in_bucket, 1);
  for (Place* const place : places) {
    if (put_locked(place)) chain.add(place);
  }
  return chain;
}

bool PlaceTable::put_locked(Place* place) {
  if (place->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return false;
  Place** at = &buckets_[bucket(place->superblock, place->hash)];
  while (*at != place)
    at = &(*at)->next_in_bucket;
  *at = place->next_in_bucket;
  --count_;
  return true;
}

void free_place(Place* place) {
  place->superblock->unref();
  place->~Place();
  ::operator delete(place);
}

}  // namespace unmoor::tree
