// SPDX-License-Identifier: MIT
// Device-mapper and md devices on top of a block device: they keep it open exclusively.
#include "gone/holders/finders.h"
#include "gone/shell_word.h"
#include "kernel/device_node.h"
#include "kernel/procfs_text.h"

namespace unmoor::gone::holders {

std::vector<KernelUser> find_stacked_devices(const kernel::SystemCalls& calls, kernel::DeviceNumber device) {
  std::vector<KernelUser> users;
  for (const std::string& name : kernel::stacked_devices(calls, device)) {
    const std::string directory = "/sys/block/" + name;
    const std::string mapped = kernel::read_line(calls, AT_FDCWD, (directory + "/dm/name").c_str());
    KernelUser user{HolderKind::kStackedDevice, "/dev/" + name, {}, mapped.empty() ? name : mapped, {}};
    if (!mapped.empty()) user.release = "dmsetup remove " + shell_word(mapped);
    if (mapped.empty() && name.starts_with("md")) user.release = "mdadm --stop /dev/" + name;
    users.push_back(std::move(user));
  }
  return users;
}

}  // namespace unmoor::gone::holders
