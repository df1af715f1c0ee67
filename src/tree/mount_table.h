// SPDX-License-Identifier: MIT
// Which mount is on a place of a mount: Linux's mount_hashtable. Looked up without a lock.
//
// A lookup that races with a change may miss a mount or return one that has moved; the sequence count tells
// (mount_lock.h). It always ends: chains are never circular, also while the table grows.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tree/mount.h"

namespace unmoor::tree {

class MountTable {
 public:
  MountTable() = default;
  MountTable(const MountTable&) = delete;
  MountTable& operator=(const MountTable&) = delete;
  ~MountTable();

  // Room for the first mounts. False when memory is short.
  [[nodiscard]] bool init();

  // Inside a read section, or under the namespace or mount lock.
  [[nodiscard]] Mount* find(const Mount* parent, std::uint64_t hash, std::string_view path) const;
  [[nodiscard]] Mount* find(const Mount* parent, const Place* place) const;

  // Under the mount lock, the sequence odd. Parent and mountpoint are set.
  void insert(Mount* mount);
  bool remove(Mount* mount);  // false: it was not there
  // `parent` and `place` are about to be removed.
  void prefetch(const Mount* parent, const Place* place) const {
    const Buckets* const buckets = buckets_.load(std::memory_order_relaxed);
    __builtin_prefetch(&buckets->heads[index(parent, place->hash) & buckets->mask], 1);
  }
  // Under the namespace lock, before mounts are added: a bigger table, if it is time and there is memory. The old one
  // is kept until nobody can read it: it is at most as big as all that came before, so it is kept until the end.
  void reserve(std::size_t more, struct MountLock& lock);

 private:
  struct Buckets {
    std::size_t mask = 0;
    Buckets* outgrown = nullptr;
    std::atomic<Mount*>* heads = nullptr;  // behind this, in the same allocation
  };
  [[nodiscard]] static Buckets* make(std::size_t size);
  [[nodiscard]] static std::size_t index(const Mount* parent, std::uint64_t hash) {
    return (hash ^ (reinterpret_cast<std::uintptr_t>(parent) * 0x9e3779b97f4a7c15U >> 20));
  }

  std::atomic<Buckets*> buckets_{nullptr};
  std::size_t count_ = 0;
};

}  // namespace unmoor::tree
