// SPDX-License-Identifier: MIT
// A program that asks about a filesystem must not hold it: what it inherited from its caller would keep it alive. Names
// must have been resolved before.
#pragma once

#include "kernel/system_calls.h"

namespace unmoor::cli {

// Closes inherited descriptors above standard error: those that exec left open.
void close_inherited(const kernel::SystemCalls& calls);
// Makes / the working directory.
void leave_directory(const kernel::SystemCalls& calls);

}  // namespace unmoor::cli
