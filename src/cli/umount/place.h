// SPDX-License-Identifier: MIT
// What a name on the command line leads to, found without touching the filesystem that is mounted there: no call here
// asks a FUSE or network server anything about its root, and none triggers an automount.
#pragma once

#include <cstdint>
#include <optional>

#include "kernel/mount_table.h"
#include "kernel/system_calls.h"

namespace unmoor::cli::umount {

enum class IdKind : std::uint8_t {
  kTable,   // as in the mount table; Linux 5.8
  kUnique,  // as statmount(2) takes it; Linux 6.8
};

// The id of the mount whose root `name` leads to (its last component may be a symlink). Nothing when it leads to no
// root of a mount, to nothing at all, or when this kernel has no such id.
[[nodiscard]] std::optional<std::uint64_t> mount_at(const kernel::SystemCalls& calls, const char* name, IdKind kind);

// The mount's line in the table, nullptr if mount_at finds none or the table has changed since.
[[nodiscard]] const kernel::MountEntry* line_of(const kernel::SystemCalls& calls, const kernel::MountTable& table,
                                                const char* name);

}  // namespace unmoor::cli::umount
