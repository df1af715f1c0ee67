// SPDX-License-Identifier: MIT
// Loop devices: their backing file stays open in the kernel. sysfs tells its path; the device's own status tells which
// filesystem it is on, which a path alone cannot when it was opened in another namespace.
#include <linux/loop.h>

#include "gone/holders/finders.h"
#include "kernel/procfs_directory.h"
#include "kernel/procfs_text.h"

namespace unmoor::gone::holders {
namespace {

// st_dev of the backing file, in the kernel's 64-bit packing (the low 32 bits as new_encode_dev has them).
std::optional<kernel::DeviceNumber> backing_device(const kernel::SystemCalls& calls, const std::string& node) {
  const long fd = calls.open(node.c_str(), O_RDONLY | O_NONBLOCK);
  if (fd < 0) return std::nullopt;
  const kernel::UniqueFd owner(static_cast<int>(fd));
  loop_info64 status{};
  const long told =
      calls.call(SYS_ioctl, owner.get(), static_cast<long>(LOOP_GET_STATUS64), kernel::SystemCalls::pointer(&status));
  if (told < 0) return std::nullopt;
  const std::uint64_t packed = status.lo_device;
  return kernel::DeviceNumber{static_cast<std::uint32_t>((packed >> 8) & 0xfff),
                              static_cast<std::uint32_t>((packed & 0xff) | ((packed >> 12) & 0xfff00))};
}

}  // namespace

std::vector<KernelUser> find_loops(const kernel::SystemCalls& calls) {
  std::vector<KernelUser> users;
  (void)kernel::for_each_name(calls, AT_FDCWD, "/sys/block", [&](std::string_view name) {
    if (!name.starts_with("loop")) return;
    const std::string file = "/sys/block/" + std::string(name) + "/loop/backing_file";
    Result<std::string> path = kernel::read_text(calls, AT_FDCWD, file.c_str());
    if (!path) return;  // not bound
    if (path->ends_with('\n')) path->pop_back();
    const std::string node = "/dev/" + std::string(name);
    users.push_back({HolderKind::kLoop, std::move(*path), backing_device(calls, node), node, "losetup -d " + node});
  });
  return users;
}

}  // namespace unmoor::gone::holders
