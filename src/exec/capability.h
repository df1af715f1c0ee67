// SPDX-License-Identifier: MIT
// capget(2), as far as it matters here.
#pragma once

#include "kernel/system_calls.h"

namespace unmoor::exec {

// CAP_SYS_ADMIN is in the calling thread's effective set. False when that cannot be asked.
[[nodiscard]] bool has_sys_admin(const kernel::SystemCalls& calls);

}  // namespace unmoor::exec
