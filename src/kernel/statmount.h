// SPDX-License-Identifier: MIT
// statmount(2) and listmount(2), Linux 6.8 and later: mounts by an id that is never reused.
// https://man7.org/linux/man-pages/man2/statmount.2.html
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "kernel/error.h"
#include "kernel/system_calls.h"

namespace unmoor::kernel {

using UniqueMountId = std::uint64_t;  // from statx(STATX_MNT_ID_UNIQUE); above 2^31

inline constexpr UniqueMountId kListRoot = ~std::uint64_t{0};  // LSMT_ROOT: the root of the caller's namespace

enum class MountPresence {
  kPresent,  // in the caller's mount namespace
  kAbsent,   // ENOENT: in no mount namespace of ours, or detached
  kUnknown,  // no statmount here, or any other error: ask the mount table
};

// One statmount(2) for nothing but presence.
[[nodiscard]] MountPresence mount_presence(const SystemCalls& calls, UniqueMountId id) noexcept;

// The children of `parent` (all mounts below it, in the order of their ids), after `last` (0: from the start), as many
// as fit into `out`. Returns how many; ENOSYS before 6.8.
[[nodiscard]] Result<std::size_t> list_mounts(const SystemCalls& calls, UniqueMountId parent, UniqueMountId last,
                                              std::span<UniqueMountId> out);

// The filesystem type of a mount, without a subtype ("fuse", not "fuse.sshfs"). Nothing of the filesystem is touched.
// ENOENT: no such mount, or not visible from here; ENOSYS before 6.8.
[[nodiscard]] Result<std::string> mount_type(const SystemCalls& calls, UniqueMountId id);

}  // namespace unmoor::kernel
