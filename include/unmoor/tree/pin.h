// SPDX-License-Identifier: MIT
// A counted reference to a place in the tree: the counterpart of an open directory.
#pragma once

#include <string>
#include <string_view>

#include <unmoor/tree/export.h>
#include <unmoor/tree/filesystem.h>
#include <unmoor/tree/mount.h>

namespace unmoor::tree {

struct Mount;

// Holds its mount: a plain umount of it is EBUSY, a lazy one leaves it *held* until the last Pin goes. Dropping the
// last Pin of a detached mount releases it, so the destructor may run that filesystem's shutdown(); not inside a
// visit() callback, where the release is left to the pool. A Pin may outlive its namespace and its Universe.
//
// Thread-safety: one Pin, one thread at a time; different Pins of one mount from any threads.
// Copying takes the new reference before an old one is dropped; cost: one uncontended atomic addition.
class UNMOOR_TREE_API Pin {
 public:
  Pin() = default;
  Pin(const Pin& other);
  Pin(Pin&& other) noexcept;
  Pin& operator=(const Pin& other);
  Pin& operator=(Pin&& other) noexcept;
  ~Pin();

  [[nodiscard]] explicit operator bool() const { return mount_ != nullptr; }
  void reset();

  // Of a Pin that is not empty.
  [[nodiscard]] MountId mount() const;
  [[nodiscard]] Filesystem& filesystem() const;
  [[nodiscard]] const std::string& path() const { return path_; }  // inside the filesystem
  [[nodiscard]] MountOptions options() const;                      // of the mount, now
  // False once the mount has been taken out of its namespace.
  [[nodiscard]] bool attached() const;

 private:
  friend class MountNamespace;
  friend class DetachedTree;
  Pin(Mount* mount, std::string path) : mount_(mount), path_(std::move(path)) {}

  Mount* mount_ = nullptr;
  std::string path_;
};

}  // namespace unmoor::tree
