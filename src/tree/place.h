// SPDX-License-Identifier: MIT
// A place: one path of one filesystem that is the root of a mount or has mounts on it. The counterpart of Linux's
// dentry and struct mountpoint in one. Interned: equal places are the same object, so that peers compare by address.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>

#include <unmoor/tree/filesystem.h>

#include "sync/mutex.h"
#include "tree/list.h"
#include "tree/retired.h"

namespace unmoor::tree {

struct Core;
struct Mount;
struct Superblock;

struct PlaceMountsTag;

// Immutable but for `mounts`. Walkers read it: freed one grace period after its last reference went.
struct Place : Retired {
  [[nodiscard]] std::string_view path() const {
    return {reinterpret_cast<const char*>(this + 1), length};
  }  // "" is the root
  [[nodiscard]] std::string_view shown() const { return length == 0 ? std::string_view("/") : path(); }

  Superblock* superblock = nullptr;  // counted: a dropped place may outlive the last mount of it
  std::uint64_t hash = 0;
  std::atomic<std::uint32_t> references{0};
  std::uint32_t length = 0;
  List<Mount, PlaceMountsTag> mounts;  // what is mounted on it, in all namespaces. Under the mount lock.
  Place* next_in_bucket = nullptr;     // PlaceTable
  Place* next_dropped = nullptr;       // ex_mountpoints, see NamespaceLock
  bool dropped = false;                // is on that list
  FileKind kind = FileKind::kNothing;  // when it was first interned; never changes
};

class PlaceTable {
 public:
  PlaceTable() = default;
  PlaceTable(const PlaceTable&) = delete;
  PlaceTable& operator=(const PlaceTable&) = delete;
  ~PlaceTable();

  // A counted reference to the place, or nullptr when memory is short.
  [[nodiscard]] Place* get(Superblock* superblock, std::string_view path, std::uint64_t hash);
  static void ref(Place* place) { place->references.fetch_add(1, std::memory_order_relaxed); }
  // Drops a reference; true when it was the last: the place has left the table and the caller retires it.
  [[nodiscard]] bool put(Place* place);
  // The same of many: those that have left the table come back.
  [[nodiscard]] RetiredChain put(std::span<Place* const> places);

 private:
  [[nodiscard]] bool put_locked(Place* place) UNMOOR_REQUIRES(mutex_);
  [[nodiscard]] bool grow() UNMOOR_REQUIRES(mutex_);
  [[nodiscard]] std::size_t bucket(const Superblock* superblock, std::uint64_t hash) const UNMOOR_REQUIRES(mutex_);

  Mutex mutex_;  // a leaf
  Place** buckets_ UNMOOR_GUARDED_BY(mutex_) = nullptr;
  std::size_t mask_ UNMOOR_GUARDED_BY(mutex_) = 0;
  std::size_t count_ UNMOOR_GUARDED_BY(mutex_) = 0;
};

// Frees the memory of a place that has left the table.
void free_place(Place* place);

}  // namespace unmoor::tree
