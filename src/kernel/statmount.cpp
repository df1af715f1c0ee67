// SPDX-License-Identifier: MIT
#include "kernel/statmount.h"

#include <array>

namespace unmoor::kernel {
namespace {

// The numbers are the same on every architecture that has the generic table (x86-64 and arm64 among them).
constexpr long kSysStatmount = 457;
constexpr long kSysListmount = 458;

struct MountIdRequest {  // struct mnt_id_req, first version
  std::uint32_t size;
  std::uint32_t spare;
  std::uint64_t mount_id;
  std::uint64_t parameter;
};
static_assert(sizeof(MountIdRequest) == 24);

}  // namespace

MountPresence mount_presence(const SystemCalls& calls, UniqueMountId id) noexcept {
  const MountIdRequest request{sizeof request, 0, id, 0};
  alignas(8) std::array<char, 512> answer;  // struct statmount is 512 bytes; nothing in it is asked for
  const long result =
      calls.call(kSysStatmount, SystemCalls::pointer(&request), SystemCalls::pointer(answer.data()), answer.size(), 0);
  if (result == 0) return MountPresence::kPresent;
  return result == -ENOENT ? MountPresence::kAbsent : MountPresence::kUnknown;
}

Result<std::size_t> list_mounts(const SystemCalls& calls, UniqueMountId parent, UniqueMountId last,
                                std::span<UniqueMountId> out) {
  const MountIdRequest request{sizeof request, 0, parent, last};
  const long result = calls.call(kSysListmount, SystemCalls::pointer(&request), SystemCalls::pointer(out.data()),
                                 static_cast<long>(out.size()), 0);
  if (result < 0) return fail_from(result, "listmount");
  return static_cast<std::size_t>(result);
}

}  // namespace unmoor::kernel
