// SPDX-License-Identifier: MIT
// By which name umount(8) speaks of a mount.
//
// umount(8) looks an absolute name up by asking the filesystem for its type, and if it knows the answer it says the
// name as it was given, and no source. Any other name it finds in the mount table, and says what stands there. We never
// ask the filesystem (it may hang), but say the same.
#pragma once

#include <cstdint>
#include <string_view>

#include "cli/umount/options.h"
#include "kernel/system_calls.h"

namespace unmoor::cli::umount {

enum class Lookup : std::uint8_t {
  kFirst,  // a target of the command line, or the first of -R or -A
  kLater,  // a further one: umount(8) has forgotten -d by then
};

[[nodiscard]] bool said_as_given(const kernel::SystemCalls& calls, const Options& options, Lookup lookup,
                                 const char* target, std::string_view type);

}  // namespace unmoor::cli::umount
