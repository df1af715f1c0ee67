// SPDX-License-Identifier: MIT
#include "tree/counts.h"

#include <bit>
#include <new>

namespace unmoor::tree {
namespace {

constexpr std::align_val_t kLine{64};

void destroy(CountSlab* slab) {
  ::operator delete(slab->cells, kLine);
  delete slab;
}

}  // namespace

CountPool::~CountPool() {
  while (partial_ != nullptr) {
    CountSlab* const slab = partial_;
    partial_ = slab->next;
    destroy(slab);
  }
}

bool CountPool::allocate(Counts& counts) {
  MutexLock lock(mutex_);
  if (partial_ == nullptr) {
    auto* const slab = new (std::nothrow) CountSlab;
    if (slab == nullptr) return false;
    const std::size_t cells = shards_ * kCountsPerSlab;
    slab->cells = static_cast<CountCell*>(::operator new(cells * sizeof(CountCell), kLine, std::nothrow));
    if (slab->cells == nullptr) {
      delete slab;
      return false;
    }
    for (std::size_t i = 0; i < cells; ++i)
      new (slab->cells + i) CountCell;
    slab->shards = shards_;
    partial_ = slab;
  }
  CountSlab* const slab = partial_;
  const auto index = static_cast<std::size_t>(std::countr_one(slab->used));
  slab->used |= std::uint64_t{1} << index;
  if (slab->used == ~std::uint64_t{0}) {
    partial_ = slab->next;
    slab->next = nullptr;
  }
  counts.slab_ = slab;
  counts.first_ = slab->cells + index;
  for (unsigned i = 0; i < shards_; ++i) {
    counts.first_[i * kCountsPerSlab].gets.store(0, std::memory_order_relaxed);
    counts.first_[i * kCountsPerSlab].puts.store(0, std::memory_order_relaxed);
  }
  return true;
}

void CountPool::free(Counts& counts) {
  if (counts.slab_ == nullptr) return;
  MutexLock lock(mutex_);
  CountSlab* const slab = counts.slab_;
  const auto index = static_cast<std::size_t>(counts.first_ - slab->cells);
  const bool was_full = slab->used == ~std::uint64_t{0};
  slab->used &= ~(std::uint64_t{1} << index);
  counts = Counts();
  if (was_full) {
    slab->next = partial_;
    partial_ = slab;
  }
  // An empty slab goes back to the system, but for one that is kept for the next mount.
  if (slab->used == 0 && !(partial_ == slab && slab->next == nullptr)) {
    CountSlab** at = &partial_;
    while (*at != slab)
      at = &(*at)->next;
    *at = slab->next;
    destroy(slab);
  }
}

}  // namespace unmoor::tree
