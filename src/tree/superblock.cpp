// SPDX-License-Identifier: MIT
#include "tree/superblock.h"

#include <cerrno>
#include <new>

#include "tree/core.h"

namespace unmoor::tree {

Filesystem::~Filesystem() = default;

int Superblock::get(Core& core, std::shared_ptr<Filesystem> filesystem, std::string_view name, std::uint64_t owner,
                    Superblock*& out) {
  Filesystem& object = *filesystem;
  auto* fresh = new (std::nothrow) Superblock;
  if (fresh == nullptr) return ENOMEM;
  try {
    fresh->name = name;
  } catch (const std::bad_alloc&) {
    delete fresh;
    return ENOMEM;
  }
  fresh->core = &core;
  fresh->owner = owner;
  fresh->filesystem = std::move(filesystem);
  fresh->active = 1;
  int error = 0;
  {
    MutexLock lock(core.mount_lock.mutex);
    // The first mount claims the object; kGone says that it has been shut down.
    Superblock* live = nullptr;
    if (object.superblock_.compare_exchange_strong(live, fresh, std::memory_order_acq_rel)) {
      out = fresh;
      return 0;
    }
    if (live != gone() && live->core != &core) {
      error = EBUSY;
    } else if (live == gone() || live->active == 0) {
      error = ESTALE;
    } else {
      ++live->active;
      live->ref();
      out = live;
    }
  }
  fresh->filesystem = nullptr;
  delete fresh;
  return error;
}

void Superblock::abandon() {
  abandoned = true;
  filesystem->superblock_.store(nullptr, std::memory_order_release);
}

void Superblock::unref() {
  if (references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (!abandoned) filesystem->superblock_.store(gone(), std::memory_order_release);
  delete this;
}

}  // namespace unmoor::tree
