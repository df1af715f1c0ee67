// SPDX-License-Identifier: MIT
// A filesystem, as the mount tree needs it. The user implements it; the tree does no I/O of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include <unmoor/tree/export.h>

namespace unmoor::tree {

enum class FileKind : std::uint8_t { kNothing, kDirectory, kOther };

// Paths are the filesystem's own, from its root: "/" or "/a/b", never with "." or "..", never ending in a slash.
//
// Life: handed to mount(), shared by every bind of it, shut down exactly once when the last mount of it goes, and
// released (the tree's std::shared_ptr) one grace period later, by a thread of the tree. An object that has been shut
// down cannot be mounted again (ESTALE), and one object belongs to one Universe (EBUSY elsewhere).
//
// There are no symbolic links and no renames: a path names the same file as long as something is mounted on it.
class UNMOOR_TREE_API Filesystem {
 public:
  Filesystem() = default;
  Filesystem(const Filesystem&) = delete;
  Filesystem& operator=(const Filesystem&) = delete;
  virtual ~Filesystem();

  // What is at `path`. Called by lock-free readers, from any thread, during shutdown() and for a grace period after it:
  // must not block, must not call into the tree. The kind of an existing file never changes.
  [[nodiscard]] virtual FileKind kind(std::string_view path) const noexcept = 0;

  // Flush, close the device, say goodbye to the server. Called exactly once, with no lock held; may take long. Umount,
  // wait and drain answer EDEADLK to it. If it throws, the exception is swallowed, Stats::failed_shutdowns counts it,
  // and the filesystem counts as shut down.
  virtual void shutdown() = 0;

  // umount with kForce: abort what is in flight, so that holders let go. Called with no lock held.
  virtual void begin_umount() noexcept {}

  // An unmount of the root of a namespace without kDetach does in Linux, and here, nothing but this. No lock held.
  virtual void make_read_only() noexcept {}

  // The last mount on the directory `path`, in any namespace, has gone: it may be removed now. Called with no lock
  // held, before the filesystems unmounted by the same call are released; another call may have shut this one down
  // meanwhile. Must not call into the tree.
  virtual void mountpoint_dropped(std::string_view /*path*/) noexcept {}

 private:
  friend struct Superblock;
  std::atomic<struct Superblock*> superblock_{nullptr};  // while it is mounted, and as a mark afterwards
};

}  // namespace unmoor::tree
