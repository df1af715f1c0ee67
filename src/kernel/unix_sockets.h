// SPDX-License-Identifier: MIT
// Unix sockets: one that is bound to a file pins the mount the file is on, also when no descriptor of it is open; one
// with messages that nobody has read may pin the files sent with them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "kernel/error.h"
#include "kernel/mount_table.h"
#include "kernel/system_calls.h"

namespace unmoor::kernel {

struct BoundSocket {
  std::uint64_t inode = 0;       // of the socket: what stat of its descriptor tells
  std::uint32_t file_inode = 0;  // of the file it is bound to; 0: not told
  DeviceNumber file_device{};    // of the superblock that file is on; valid with file_inode
  std::string path{};            // as it was given to bind(2): may be relative
};

struct UnixSockets {
  std::vector<BoundSocket> bound{};
  // Stream sockets with nothing to read or to accept: no descriptor is in flight to them. (A datagram may be empty and
  // carry one all the same.)
  std::unordered_set<std::uint64_t> drained{};
};

// By sock_diag(7), in the caller's network namespace. Errors: ENOENT and others where the kernel has no unix
// diagnostics: read /proc/net/unix then.
[[nodiscard]] Result<UnixSockets> unix_sockets_by_diag(const SystemCalls& calls);

// From the text of /proc/PID/net/unix: path sockets only, no device, no file inode.
[[nodiscard]] std::vector<BoundSocket> parse_net_unix(std::string_view text);

}  // namespace unmoor::kernel
