// SPDX-License-Identifier: MIT
// Whether a mount is one that needs more than a system call: a helper program, a line of utab, a loop device to free.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>

#include "cli/umount/options.h"
#include "kernel/mount_table.h"
#include "kernel/system_calls.h"

namespace unmoor::cli::umount {

// A program /sbin/umount.TYPE, where umount(8) looks for it. "fuse.sshfs" may be served by umount.fuse.
[[nodiscard]] bool has_helper(const kernel::SystemCalls& calls, const std::string& type);

inline constexpr unsigned kLoopMajor = 7;  // of loop devices

// A small file's text; empty if it cannot be read.
[[nodiscard]] std::string read_file(const kernel::SystemCalls& calls, const char* path);

// The mounts that /run/mount/utab knows something about.
class Utab {
 public:
  // An absent or unreadable file is an empty one.
  [[nodiscard]] static Utab read(const kernel::SystemCalls& calls);
  [[nodiscard]] bool empty() const { return targets_.empty(); }
  [[nodiscard]] bool mentions(std::string_view mount_point) const {
    return !targets_.empty() && targets_.contains(std::string(mount_point));
  }

 private:
  std::unordered_set<std::string> targets_;
};

// The same question for many mounts; what was found out about a type is kept.
class Specials {
 public:
  Specials(const kernel::SystemCalls& calls, const Options& options)
      : calls_(calls), options_(options), utab_(Utab::read(calls)) {}
  [[nodiscard]] bool needs_libmount(const kernel::MountEntry& entry);
  // More than the type decides.
  [[nodiscard]] bool any_by_mount_point() const { return !utab_.empty() || options_.detach_loop; }

 private:
  const kernel::SystemCalls& calls_;
  const Options& options_;
  Utab utab_;
  std::unordered_map<std::string, bool> helper_by_type_;
};

}  // namespace unmoor::cli::umount
