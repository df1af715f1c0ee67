// SPDX-License-Identifier: MIT
#include "kernel/device_node.h"

#include <algorithm>

#include "kernel/procfs_directory.h"
#include "kernel/procfs_text.h"
#include "kernel/unique_fd.h"

namespace unmoor::kernel {
namespace {

std::string sysfs_directory(DeviceNumber device) {
  return "/sys/dev/block/" + std::to_string(device.major) + ":" + std::to_string(device.minor);
}

}  // namespace

std::string block_device_name(const SystemCalls& calls, DeviceNumber device) {
  Result<std::string> text = read_text(calls, AT_FDCWD, (sysfs_directory(device) + "/uevent").c_str());
  std::string_view rest = text ? std::string_view(*text) : std::string_view();
  while (!rest.empty()) {
    std::string_view line = take_until(rest, '\n');
    if (take_until(line, '=') != "DEVNAME") continue;
    return std::string(line);
  }
  return {};
}

Result<std::string> block_device_node(const SystemCalls& calls, DeviceNumber device) {
  const std::string name = block_device_name(calls, device);
  if (name.empty()) return fail(ENODEV, "find the device");
  std::string node = "/dev/" + name;
  const Result<DeviceNumber> number = block_device_number(calls, node.c_str());
  if (!number || *number != device) return fail(ENODEV, "find the device's node", node);
  return node;
}

Result<DeviceNumber> block_device_number(const SystemCalls& calls, const char* path) {
  struct ::statx facts;
  const long result = calls.statx(AT_FDCWD, path, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_TYPE, &facts);
  if (result < 0) return fail_from(result, "statx", path);
  if (!S_ISBLK(facts.stx_mode)) return fail(ENOTBLK, "statx", path);
  return DeviceNumber{facts.stx_rdev_major, facts.stx_rdev_minor};
}

std::vector<std::string> stacked_devices(const SystemCalls& calls, DeviceNumber device) {
  std::vector<std::string> names;
  (void)for_each_name(calls, AT_FDCWD, (sysfs_directory(device) + "/holders").c_str(),
                      [&](std::string_view name) { names.emplace_back(name); });
  std::ranges::sort(names);
  return names;
}

Exclusive try_exclusive(const SystemCalls& calls, const std::string& node) {
  const long fd = calls.open(node.c_str(), O_RDONLY | O_EXCL | O_NONBLOCK);
  if (fd >= 0) {
    calls.close(static_cast<int>(fd));
    return Exclusive::kFree;
  }
  return fd == -EBUSY ? Exclusive::kInUse : Exclusive::kUnknown;
}

}  // namespace unmoor::kernel
