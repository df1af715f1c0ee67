// SPDX-License-Identifier: MIT
// How many requests wait in a FUSE connection, as the fusectl filesystem tells it (Documentation/filesystems/fuse.rst,
// "Control filesystem"). Asking never reaches a server.
#pragma once

#include <cstdint>
#include <optional>

#include "kernel/system_calls.h"

namespace unmoor::kernel {

// `connection` is the minor of the mount's device number, `directory` a mounted fusectl. Empty when there is no such
// connection there, or this process may not read it: its files belong to whoever mounted it.
[[nodiscard]] std::optional<std::uint64_t> fuse_requests_waiting(const SystemCalls& calls, const char* directory,
                                                                 std::uint32_t connection);

}  // namespace unmoor::kernel
