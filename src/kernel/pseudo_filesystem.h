// SPDX-License-Identifier: MIT
// The kernel's own small filesystems (tracefs, binfmt_misc), also where nobody has mounted them.
#pragma once

#include "kernel/error.h"
#include "kernel/system_calls.h"
#include "kernel/unique_fd.h"

namespace unmoor::kernel {

// The root of filesystem `type`: from `usual_place` when `known_name` is there, else from a mount of its own that is in
// no namespace and goes when the descriptor is closed (fsopen(2), 5.2). Errors: EPERM, ENODEV, those of fsopen(2).
[[nodiscard]] Result<UniqueFd> open_pseudo_filesystem(const SystemCalls& calls, const char* type,
                                                      const char* usual_place, const char* known_name);

}  // namespace unmoor::kernel
