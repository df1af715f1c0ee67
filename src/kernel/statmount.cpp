// SPDX-License-Identifier: MIT
#include "kernel/statmount.h"

#include <array>
#include <cstring>

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

// struct statmount: what we read of its fixed part, and where its strings begin.
constexpr std::uint64_t kAskFsType = 0x20;  // STATMOUNT_FS_TYPE
constexpr std::size_t kFsTypeOffset = 36;   // a 32-bit offset into the strings
constexpr std::size_t kMaskOffset = 8;      // what the kernel has filled in
constexpr std::size_t kStringsOffset = 512;

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

Result<std::string> mount_type(const SystemCalls& calls, UniqueMountId id) {
  const MountIdRequest request{sizeof request, 0, id, kAskFsType};
  alignas(8) std::array<char, kStringsOffset + 256> answer{};
  const long result =
      calls.call(kSysStatmount, SystemCalls::pointer(&request), SystemCalls::pointer(answer.data()), answer.size(), 0);
  if (result < 0) return fail_from(result, "statmount");
  std::uint64_t mask = 0;
  std::uint32_t offset = 0;
  std::memcpy(&mask, answer.data() + kMaskOffset, sizeof mask);
  std::memcpy(&offset, answer.data() + kFsTypeOffset, sizeof offset);
  if ((mask & kAskFsType) == 0 || offset >= answer.size() - kStringsOffset) return fail(ENODATA, "statmount");
  const char* const begin = answer.data() + kStringsOffset + offset;
  return std::string(begin, strnlen(begin, answer.size() - kStringsOffset - offset));
}

}  // namespace unmoor::kernel
