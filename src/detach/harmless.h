// SPDX-License-Identifier: MIT
// Which filesystems may shut down late without anybody noticing. Whoever unmounts for itself (decision.h) and whoever
// does it for others (exec/verdict.h) ask here.
#pragma once

#include "kernel/mount_table.h"
#include "kernel/system_calls.h"

namespace unmoor::detach {

enum class LateShutdown {
  kUnseen,         // nobody can tell
  kUnseenIfSmall,  // a tmpfs: its memory comes back late; see is_small_tmpfs()
  kCounts          // somebody may be waiting for it
};

// By its type alone. The filesystem that process 1 has as its root does not shut down while the machine runs, whatever
// it is: that is for the caller to see.
[[nodiscard]] LateShutdown late_shutdown(const kernel::MountEntry& mount) noexcept;

// `fd` (O_PATH will do) is in the mount with this id, a tmpfs with so little in it that nobody's next allocation waits
// for its memory. One without limits does not say what it uses, and is not, unless it is empty.
[[nodiscard]] bool is_small_tmpfs(const kernel::SystemCalls& calls, int fd, int mount_id);

}  // namespace unmoor::detach
