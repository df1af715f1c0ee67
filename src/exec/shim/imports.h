// SPDX-License-Identifier: MIT
// Does anything in this process call umount2 through the dynamic linker? Only such a program keeps a connection.
#pragma once

namespace unmoor::exec::shim {

// Looks through the relocations of every object loaded so far but libc's own. An object that is loaded later, or looks
// the name up itself, connects at its first call.
[[nodiscard]] bool imports_umount();

}  // namespace unmoor::exec::shim
