// SPDX-License-Identifier: MIT
// Holders that are the kernel's own: swap, loop devices, binfmt_misc, uprobes, exports, and devices on top of devices.
#include <algorithm>

#include "gone/matching.h"
#include "gone/shell_word.h"

namespace unmoor::gone {
namespace {

using kernel::DeviceNumber;

// What sits on a block device, inner first: it has to go before the device can. Devices stack at most a few deep.
void add_users_of_device(const Evidence& evidence, DeviceNumber device, std::string_view node, Prevents prevents,
                         int depth, Answer& answer) {
  const Census& census = *evidence.census;
  for (const holders::KernelUser& user : evidence.kernel_users) {
    if (user.kind != HolderKind::kSwap || user.path != node) continue;
    answer.holders.push_back({.kind = HolderKind::kSwap,
                              .prevents = prevents,
                              .path = user.path,
                              .detail = "partition",
                              .release = user.release});
  }
  if (depth == 0) return;
  for (const holders::KernelUser& user : holders::find_stacked_devices(census.calls(), device)) {
    const Result<DeviceNumber> number = kernel::block_device_number(census.calls(), user.path.c_str());
    if (number) add_users_of_device(evidence, *number, user.path, prevents, depth - 1, answer);
    if (number) {
      for (const kernel::MountEntry& entry : census.own().table.entries()) {
        if (entry.device != *number) continue;
        answer.holders.push_back({.kind = HolderKind::kNestedMount,
                                  .prevents = prevents,
                                  .path = std::string(entry.mount_point),
                                  .mount_id = static_cast<std::uint64_t>(entry.id),
                                  .detail = "on " + user.path,
                                  .release = "umount " + shell_word(entry.mount_point)});
      }
    }
    answer.holders.push_back({.kind = HolderKind::kStackedDevice,
                              .prevents = prevents,
                              .path = user.path,
                              .detail = user.detail,
                              .release = user.release});
  }
}

// A loop device's own mounts come before the loop device itself.
void add_users_of_loop(const Evidence& evidence, const std::string& node, Prevents prevents, Answer& answer) {
  const Result<DeviceNumber> number = kernel::block_device_number(evidence.census->calls(), node.c_str());
  if (!number) return;
  for (const kernel::MountEntry& entry : evidence.census->own().table.entries()) {
    if (entry.device != *number) continue;
    answer.holders.push_back({.kind = HolderKind::kNestedMount,
                              .prevents = prevents,
                              .path = std::string(entry.mount_point),
                              .mount_id = static_cast<std::uint64_t>(entry.id),
                              .detail = "on " + node,
                              .release = "umount " + shell_word(entry.mount_point)});
  }
  add_users_of_device(evidence, *number, node, prevents, 4, answer);
}

}  // namespace

void match_kernel_users(const Evidence& evidence, Answer& answer) {
  const Census& census = *evidence.census;
  const Prevents prevents = answer.target.attached ? Prevents::kUnmount : Prevents::kShutdown;
  for (const holders::KernelUser& user : evidence.kernel_users) {
    if (user.kind == HolderKind::kSwap && user.detail == "partition") continue;  // a device, not a file
    const Match match = match_path(census, answer.target, user.path, 0, user.device);
    if (match == Match::kNo) continue;
    // No path leads into a detached mount: such a swap file goes only after the device was mounted once more.
    const bool by_path = user.kind == HolderKind::kSwap && !answer.target.attached;
    if (user.kind == HolderKind::kLoop) add_users_of_loop(evidence, user.detail, prevents, answer);
    answer.holders.push_back({.kind = user.kind,
                              .prevents = prevents,
                              .certainty = match == Match::kYes ? Certainty::kCertain : Certainty::kCandidate,
                              .path = user.path,
                              .detail = user.detail,
                              .release = by_path ? std::string() : user.release});
  }
  if (answer.target.scope != Scope::kFilesystem || !answer.target.block_device) return;
  const Result<std::string> node = kernel::block_device_node(census.calls(), *answer.target.block_device);
  add_users_of_device(evidence, *answer.target.block_device, node ? *node : "", Prevents::kDevice, 4, answer);
}

}  // namespace unmoor::gone
