// SPDX-License-Identifier: MIT
// The reference counts of mounts, split and sharded.
//
// Split: gets and puts are counted apart, in 64 bits each, and only ever grow. Whoever wants the sum reads every put,
// then every get, each with sequential consistency. A reference that was copied is got before the old one is put; so a
// reader of the sum that sees the put sees the get, wherever the holder has migrated in between. The sum can be too
// large for a moment, never too small: exactly 1 means that for an instant there was exactly one reference. With one
// signed counter per shard a holder that gets on shard A and puts on shard B can make the sum tear to 1 although
// somebody holds on (Linux's 7eb84d54fac5).
//
// Sharded as Linux's per-CPU memory is: one shard of many mounts lies together, so that two CPUs never write the same
// cache line, and a mount costs 16 bytes a shard, not a line.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <sched.h>

#include "sync/mutex.h"

namespace unmoor::tree {

struct CountCell {
  std::atomic<std::uint64_t> gets{0};
  std::atomic<std::uint64_t> puts{0};
};

struct CountSlab;

// One mount's counts.
class Counts {
 public:
  // A reference more, by somebody who has one (or whom a lock keeps safe).
  void get() { cell().gets.fetch_add(1, std::memory_order_relaxed); }
  // The same by a walker that has none yet. It must be ordered before the walker's second look at the sequence count:
  // both are sequentially consistent, and so is the umounter's sum after its change of the sequence.
  void get_ordered() { cell().gets.fetch_add(1, std::memory_order_seq_cst); }
  void put() { cell().puts.fetch_add(1, std::memory_order_release); }
  [[nodiscard]] std::uint64_t sum() const;
  void prefetch() const;

 private:
  friend class CountPool;
  [[nodiscard]] CountCell& cell() const;

  CountCell* first_ = nullptr;  // shard 0; the next shard is kCountsPerSlab cells on
  CountSlab* slab_ = nullptr;
};

inline constexpr std::size_t kCountsPerSlab = 64;

struct CountSlab {
  CountSlab* next = nullptr;   // with free places
  std::uint64_t used = 0;      // one bit a mount
  unsigned shards = 0;         // a power of two
  CountCell* cells = nullptr;  // shards x kCountsPerSlab, each shard on cache lines of its own
};

class CountPool {
 public:
  explicit CountPool(unsigned shards) : shards_(shards) {}
  CountPool(const CountPool&) = delete;
  CountPool& operator=(const CountPool&) = delete;
  ~CountPool();

  // False when memory is short. The sum starts at 0.
  [[nodiscard]] bool allocate(Counts& counts);
  // No walker can reach the counts any more.
  void free(Counts& counts);

 private:
  const unsigned shards_;
  Mutex mutex_;                                             // a leaf
  CountSlab* partial_ UNMOOR_GUARDED_BY(mutex_) = nullptr;  // slabs with a free place; full ones are on no list
};

inline CountCell& Counts::cell() const {
  // getcpu through rseq: a few instructions. A thread that migrates between the question and the addition only shares
  // a line for once.
  const auto shard = static_cast<unsigned>(sched_getcpu()) & (slab_->shards - 1);
  return first_[shard * kCountsPerSlab];
}

inline void Counts::prefetch() const {
  for (unsigned i = 0; i < slab_->shards; ++i)
    __builtin_prefetch(first_ + i * kCountsPerSlab);
}

inline std::uint64_t Counts::sum() const {
  std::uint64_t puts = 0;
  for (unsigned i = 0; i < slab_->shards; ++i)
    puts += first_[i * kCountsPerSlab].puts.load(std::memory_order_seq_cst);
  std::uint64_t gets = 0;
  for (unsigned i = 0; i < slab_->shards; ++i)
    gets += first_[i * kCountsPerSlab].gets.load(std::memory_order_seq_cst);
  return gets - puts;
}

}  // namespace unmoor::tree
