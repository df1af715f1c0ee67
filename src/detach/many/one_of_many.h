// SPDX-License-Identifier: MIT
// One unmount of a list: the mount that the path leads to is compared with the one that is meant, then the system call.
//
// Thread-safety: any number of attempts at once.
#pragma once

#include "detach/many/many.h"
#include "kernel/mount_table.h"
#include "kernel/system_calls.h"

namespace unmoor::detach {

class OneOfMany {
 public:
  OneOfMany(const kernel::SystemCalls& calls, int umount_flags, const Options& lazy)
      : calls_(calls), umount_flags_(umount_flags), lazy_(lazy) {}

  // Unmounts `entry`. `as_read`: the table, if nothing was done since it was read.
  [[nodiscard]] MountFate unmount(const kernel::MountEntry& entry, const kernel::MountTable* as_read = nullptr) const;
  // Asks the kernel by MNT_EXPIRE whether `entry` could be unmounted, and clears the mark that this leaves.
  // kUntried: it could.
  [[nodiscard]] MountFate test(const kernel::MountEntry& entry) const;

 private:
  enum class There { kMeant, kGone, kAnother, kUnknown };

  [[nodiscard]] There look(const kernel::MountEntry& entry, const char* path) const;
  [[nodiscard]] MountFate covered(const char* path) const;
  [[nodiscard]] MountFate explain(const kernel::MountEntry& entry, const char* path, int error) const;

  const kernel::SystemCalls& calls_;
  int umount_flags_;
  Options lazy_;
};

}  // namespace unmoor::detach
