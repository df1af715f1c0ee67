// SPDX-License-Identifier: MIT
#include "gone/target.h"

#include <charconv>

#include "gone/visible_mount.h"
#include "kernel/procfs_place.h"
#include "kernel/procfs_text.h"

namespace unmoor::gone {
namespace {

using kernel::DeviceNumber;
using kernel::MountEntry;

constexpr std::uint64_t kFirstUniqueId = std::uint64_t{1} << 31;

std::optional<std::uint64_t> as_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Filesystems on several devices (btrfs) have an anonymous number and name a device as their source.
std::optional<DeviceNumber> device_of_source(const kernel::SystemCalls& calls, std::string_view source) {
  if (!source.starts_with("/dev/")) return std::nullopt;
  const std::string first(source.substr(0, source.find(':')));
  const Result<DeviceNumber> number = kernel::block_device_number(calls, first.c_str());
  return number ? std::optional(*number) : std::nullopt;
}

bool is_on_device(const kernel::SystemCalls& calls, const MountEntry& entry, DeviceNumber device) {
  if (entry.device == device) return true;
  return entry.device.major == 0 && (entry.type == "btrfs" || entry.type == "bcachefs") &&
         device_of_source(calls, entry.source) == device;
}

Target target_of_device(const Census& census, std::string_view name, DeviceNumber device) {
  Target target{.name = std::string(name), .scope = Scope::kFilesystem, .mount_point = {}};
  target.superblock = device;
  target.block_device = device;
  for (std::size_t n = 0; n < census.namespaces().size(); ++n) {
    const std::span<const MountEntry> entries = census.namespaces()[n].table.entries();
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (!is_on_device(census.calls(), entries[i], device)) continue;
      Target mounted = target_of_mount(census, {n, i}, name, Scope::kFilesystem);
      mounted.block_device = device;
      mounted.mount_id = 0;
      return mounted;
    }
  }
  return target;
}

// The id of a mount by its unique one, through a walk over what the tables know.
Target target_of_id(const Census& census, std::string_view name, std::uint64_t id) {
  Target target{.name = std::string(name), .scope = Scope::kMount, .mount_point = {}};
  if (id < kFirstUniqueId) {
    if (const std::optional<MountPlace> place = census.find_mount(id))
      return target_of_mount(census, *place, name, Scope::kMount);
    target.mount_id = id;
    return target;
  }
  for (std::size_t i = 0; i < census.own().table.entries().size(); ++i) {
    const MountEntry& entry = census.own().table.entries()[i];
    if (!answers_by_itself(entry.type)) continue;
    const Result<std::uint64_t> unique =
        kernel::unique_mount_id(census.calls(), AT_FDCWD, std::string(entry.mount_point).c_str());
    if (unique && *unique == id) return target_of_mount(census, {0, i}, name, Scope::kMount);
  }
  target.unique_id = id;
  return target;
}

}  // namespace

Target target_of_mount(const Census& census, const MountPlace& place, std::string_view name, Scope scope) {
  const MountEntry& entry = census.entry(place);
  Target target{.name = std::string(name), .scope = scope, .mount_point = {}};
  target.mount_id = static_cast<std::uint64_t>(entry.id);
  target.attached = true;
  target.superblock = entry.device;
  target.type = entry.type;
  target.source = entry.source;
  target.mount_point = place.name_space == 0 ? entry.mount_point : std::string_view();
  if (entry.device.major != 0) target.block_device = entry.device;
  if (entry.type == "btrfs" || entry.type == "bcachefs")
    target.block_device = device_of_source(census.calls(), entry.source);
  return target;
}

Result<Target> resolve_target(const Census& census, std::string_view text, AskFor what) {
  const Scope scope = what == AskFor::kFilesystem ? Scope::kFilesystem : Scope::kMount;
  if (const std::optional<std::uint64_t> id = as_number(text)) {
    Target target = target_of_id(census, text, *id);
    target.scope = scope;
    return target;
  }
  const kernel::MountTable& table = census.own().table;
  const auto place_of = [&](const MountEntry* entry) {
    return MountPlace{0, static_cast<std::size_t>(entry - table.entries().data())};
  };
  // As it was typed first: then nothing at all is looked at.
  Result<std::string> path = normal_path(census.calls(), text);
  if (!path) return std::unexpected(path.error());
  const MountEntry* mount = visible_mount(table, *path);
  if (mount == nullptr || mount->mount_point != *path) {
    path = resolved_path(census.calls(), table, text);
    if (!path) return std::unexpected(path.error());
    mount = visible_mount(table, *path);
  }
  if (mount != nullptr && mount->mount_point == *path) return target_of_mount(census, place_of(mount), text, scope);
  if (mount == nullptr || answers_by_itself(mount->type)) {
    const Result<DeviceNumber> device = kernel::block_device_number(census.calls(), path->c_str());
    if (device) return target_of_device(census, text, *device);
    if (device.error().code != ENOTBLK) return fail(device.error().code, "find", std::string(text));
  }
  if (mount != nullptr && what == AskFor::kFilesystem) return target_of_mount(census, place_of(mount), text, scope);
  return fail(EINVAL, "find a mount", std::string(text));
}

}  // namespace unmoor::gone
