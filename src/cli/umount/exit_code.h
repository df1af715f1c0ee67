// SPDX-License-Identifier: MIT
// umount(8)'s exit codes.
#pragma once

namespace unmoor::cli::umount {

inline constexpr int kExitSuccess = 0;
inline constexpr int kExitUsage = 1;           // incorrect invocation or permissions
inline constexpr int kExitSystem = 2;          // out of memory, cannot fork, ...
inline constexpr int kExitSoftware = 4;        // a bug
inline constexpr int kExitUserAbort = 8;       // interrupted by the user
inline constexpr int kExitFile = 16;           // mtab cannot be written
inline constexpr int kExitFailed = 32;         // an unmount failed
inline constexpr int kExitSomeSucceeded = 64;  // some unmounts succeeded, some failed

}  // namespace unmoor::cli::umount
