// SPDX-License-Identifier: MIT
// A mounted filesystem: what all mounts of one Filesystem object share.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include <unmoor/tree/filesystem.h>

#include "tree/list.h"

namespace unmoor::tree {

struct Core;
struct Place;
struct ShutdownTag;

// Memory: one reference by each mount's memory (so it outlives every walker that can reach it), one by each place, one
// by the creator.
struct Superblock : Link<ShutdownTag> {
  // The live superblock of `filesystem`, or a new one, with one mount counted; it belongs to `core` from then on.
  // Errors (errno): ENOMEM, ESTALE, EBUSY. Takes the mount lock.
  static int get(Core& core, std::shared_ptr<Filesystem> filesystem, std::string_view name, std::uint64_t owner,
                 Superblock*& out);

  // What a filesystem points to once its superblock is gone.
  [[nodiscard]] static Superblock* gone() { return reinterpret_cast<Superblock*>(std::uintptr_t{1}); }

  // Its only mount was not attached after all: it was never mounted, and can be tried again. Under the mount lock.
  void abandon();

  void ref() { references.fetch_add(1, std::memory_order_relaxed); }
  void unref();

  Core* core = nullptr;
  std::shared_ptr<Filesystem> filesystem;
  std::string name;
  std::uint64_t active = 0;  // mounts of it that are not doomed. Under the mount lock; 0 is final.
  bool abandoned = false;
  std::uint64_t owner = 0;  // the user namespace that it was first mounted in. Constant.
  std::atomic<std::uint32_t> references{1};
  struct Mount* last = nullptr;  // the mount whose release shuts it down
};

inline void prefetch(const Superblock* superblock) {
  __builtin_prefetch(superblock, 1);
  __builtin_prefetch(&superblock->active, 1);
}

}  // namespace unmoor::tree
