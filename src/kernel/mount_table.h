// SPDX-License-Identifier: MIT
// The mount table of one mount namespace, as /proc/PID/mountinfo tells it (proc_pid_mountinfo(5)).
//
// One read of the file is one pass over the kernel's list: a mount that stays for the whole read is reported exactly
// once (Linux keeps a cursor between the read calls); one that comes or goes meanwhile may or may not be there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "kernel/error.h"
#include "kernel/system_calls.h"

namespace unmoor::kernel {

// A superblock's device number as the mount table prints it. Never compared with st_dev: btrfs and overlay show
// another.
struct DeviceNumber {
  std::uint32_t major = 0;
  std::uint32_t minor = 0;
  friend auto operator<=>(const DeviceNumber&, const DeviceNumber&) = default;
};

// One line of the table. The texts point into the MountTable; mount point, root, source are unescaped and may hold any
// byte but NUL.
struct MountEntry {
  int id = 0;
  int parent_id = 0;
  DeviceNumber device;
  std::string_view root;         // path inside the filesystem
  std::string_view mount_point;  // seen from the reader's root
  std::string_view options;      // of this mount
  std::string_view type;         // may carry a subtype: "fuse.sshfs"
  std::string_view source;
  std::string_view super_options;  // of the filesystem
  int shared_group = 0;            // peer group, 0: not shared
  int master_group = 0;            // it receives propagation from this group, 0: no master
  int propagate_from = 0;          // nearest dominating peer group under this root, 0: none
  bool unbindable = false;
};

class MountTable {
 public:
  // Errors: those of open(2) and read(2); EINVAL when a line is not what proc_pid_mountinfo(5) says.
  [[nodiscard]] static Result<MountTable> read(const SystemCalls& calls,
                                               const char* path = "/proc/thread-self/mountinfo");
  // The same from an open descriptor of a mountinfo file, from its current offset.
  [[nodiscard]] static Result<MountTable> read(const SystemCalls& calls, int fd);
  // The same from its start. From its end it would look as if nothing were mounted: where it cannot be moved back, this
  // is an error.
  [[nodiscard]] static Result<MountTable> read_again(const SystemCalls& calls, int fd);
  [[nodiscard]] static Result<MountTable> parse(std::string_view text);

  [[nodiscard]] std::span<const MountEntry> entries() const { return entries_; }
  // nullptr when no mount has that id.
  [[nodiscard]] const MountEntry* by_id(int id) const;

 private:
  struct Free {
    void operator()(char* text) const;
  };
  using Text = std::unique_ptr<char, Free>;

  MountTable(Text text, std::size_t size) : text_(std::move(text)), size_(size) {}
  [[nodiscard]] bool parse_lines();

  Text text_;  // entries_ points into it; its address survives a move
  std::size_t size_;
  std::vector<MountEntry> entries_;  // in the file's order
};

}  // namespace unmoor::kernel
