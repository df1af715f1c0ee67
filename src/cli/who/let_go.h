// SPDX-License-Identifier: MIT
// A program that asks about a filesystem must not hold it: what it inherited from its caller would keep it alive.
#pragma once

#include "gone/target.h"
#include "kernel/system_calls.h"

namespace unmoor::cli {

// Closes descriptors above standard error, and leaves the working directory, that are on the target. Paths are to be
// resolved before.
void let_go_of(const kernel::SystemCalls& calls, const gone::Target& target);

}  // namespace unmoor::cli
