// SPDX-License-Identifier: MIT
// By which name umount(8) speaks of a mount.
//
// umount(8) looks an absolute name up by asking the filesystem for its type, and if it knows the answer it says the
// name as it was given, and no source. Any other name it finds in the mount table, and says what stands there. We never
// ask the filesystem (it may hang), but say the same.
#pragma once

#include <string_view>

#include "cli/umount/options.h"
#include "kernel/system_calls.h"

namespace unmoor::cli::umount {

[[nodiscard]] bool said_as_given(const kernel::SystemCalls& calls, const Options& options, const char* target,
                                 std::string_view type);

}  // namespace unmoor::cli::umount
