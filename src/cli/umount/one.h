// SPDX-License-Identifier: MIT
// One target of the command line.
#pragma once

#include "cli/umount/options.h"
#include "cli/umount/report.h"
#include "kernel/system_calls.h"

namespace unmoor::cli::umount {

// Unmounts what `target` names, tells `report`, and returns umount(8)'s exit code for it.
[[nodiscard]] int unmount_one(const kernel::SystemCalls& calls, const Options& options, const char* target,
                              Report& report);

}  // namespace unmoor::cli::umount
