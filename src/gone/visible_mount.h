// SPDX-License-Identifier: MIT
// From a path to the mount that is visible there, by the mount table alone: nothing on the way is touched.
#pragma once

#include <string>
#include <string_view>

#include "kernel/error.h"
#include "kernel/mount_table.h"
#include "kernel/system_calls.h"

namespace unmoor::gone {

// The mount that a walk to the absolute, normal `path` ends on: the top one of a stack, and none that is hidden below
// another. nullptr only when the table has no root for it (a chroot).
[[nodiscard]] const kernel::MountEntry* visible_mount(const kernel::MountTable& table, std::string_view path);

// True when looking a name up in a filesystem of this type asks no server and waits for nobody.
[[nodiscard]] bool answers_by_itself(std::string_view type);

// Absolute and without "." and ".." (the latter by text, as a shell's cd does). Errors: those of getcwd(2).
[[nodiscard]] Result<std::string> normal_path(const kernel::SystemCalls& calls, std::string_view path);

// The same with symbolic links followed, but only through filesystems that answer by themselves: what lies behind one
// that does not stays as it was typed. ELOOP after 40 links.
[[nodiscard]] Result<std::string> resolved_path(const kernel::SystemCalls& calls, const kernel::MountTable& table,
                                                std::string_view path);

}  // namespace unmoor::gone
