// SPDX-License-Identifier: MIT
// Waits for the end of a superblock's shutdown, once it has begun.
#pragma once

#include <chrono>

#include "kernel/mount_table.h"
#include "kernel/system_calls.h"

namespace unmoor::kernel {

// A superblock that shuts down holds its lock (s_umount) from before IN_UNMOUNT is raised until put_super has written
// the last of it; ustat(2) of its number waits for that lock. What remains then is to let go of the device. Returns at
// once for a superblock that is alive or gone, and where the architecture has no ustat; only for filesystems that may
// be asked (answers_by_number() in superblock_alive.h). False: not over at the deadline.
//
// The wait cannot be interrupted. It is a child's, which shares our memory but no descriptor, and is not seen by
// wait(2) of any sort but __WCLONE: at the deadline it is left to itself.
[[nodiscard]] bool wait_for_shutdown(const SystemCalls& calls, DeviceNumber device,
                                     std::chrono::steady_clock::time_point deadline);

}  // namespace unmoor::kernel
