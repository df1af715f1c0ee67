// SPDX-License-Identifier: MIT
#include "detach/target.h"

#include <array>
#include <cstring>
#include <string_view>
#include <sys/mount.h>

#include <climits>

#include "kernel/mount_table.h"

namespace unmoor::detach {
namespace {

using kernel::mount_id;
using kernel::SystemCalls;
using kernel::UniqueFd;

struct Split {
  std::string directory;
  std::string entry;
};

Split split(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return {".", std::string(path)};
  return {std::string(path.substr(0, slash == 0 ? 1 : slash)), std::string(path.substr(slash + 1))};
}

bool is_plain_name(const std::string& entry) {
  return !entry.empty() && entry != "." && entry != "..";
}

Result<UniqueFd> open_path(const SystemCalls& calls, const char* path, int flags) {
  const long fd = calls.open(path, O_PATH | flags);
  if (fd < 0) return fail_from(fd, "open");
  return UniqueFd(static_cast<int>(fd));
}

Result<Target> target_at(const SystemCalls& calls, UniqueFd parent, std::string entry) {
  const auto id = mount_id(calls, parent.get(), entry.c_str(), AT_SYMLINK_NOFOLLOW);
  if (!id) return std::unexpected(id.error());
  if (!id->is_mount_root) return fail(EINVAL, "find the mount");
  return Target{.parent = std::move(parent), .entry = std::move(entry), .id = *id};
}

Result<std::string> path_of(const SystemCalls& calls, int fd) {
  const std::string link = "/proc/thread-self/fd/" + std::to_string(fd);
  std::array<char, PATH_MAX> text;
  const long size = calls.readlinkat(AT_FDCWD, link.c_str(), text.data(), text.size());
  if (size < 0) return fail_from(size, "readlink");
  if (size == static_cast<long>(text.size()) || size == 0 || text[0] != '/') return fail(ENAMETOOLONG, "readlink");
  return std::string(text.data(), static_cast<std::size_t>(size));
}

// umount2(".") takes what is mounted on top of the working directory, while every other lookup of "." ends below it.
// Whether the mount found by name lies on the place that `place` is open at, by the mount table.
Result<bool> lies_on(const SystemCalls& calls, const Target& found, int place, const std::string& path) {
  const auto top = mount_id(calls, found.parent.get(), found.entry.c_str(), AT_SYMLINK_NOFOLLOW, kernel::kStatxMountId);
  const auto below = mount_id(calls, place, "", AT_EMPTY_PATH, kernel::kStatxMountId);
  if (!top || !below) return fail(EINVAL, "find the mount");
  if (top->value == below->value) return true;
  const auto table = kernel::MountTable::read(calls);
  if (!table) return std::unexpected(table.error());
  const kernel::MountEntry* entry = table->by_id(static_cast<int>(top->value));
  for (std::size_t steps = 0; entry != nullptr && entry->mount_point == path && steps < table->entries().size();
       ++steps) {
    if (static_cast<std::uint64_t>(entry->parent_id) == below->value) return true;
    entry = table->by_id(entry->parent_id);
  }
  return false;
}

// For paths that end in ".", "..", "/" or a symbolic link: open the place, ask the kernel where it is, and find it by
// that name. ".." of the root is the root with what is mounted on top of it.
Result<Target> by_place(const SystemCalls& calls, const char* path, int nofollow) {
  auto place = open_path(calls, path, nofollow);
  if (!place) return std::unexpected(place.error());
  auto where = path_of(calls, place->get());
  if (!where) return std::unexpected(where.error());
  const int fd = place->get();
  UniqueFd kept;
  Result<Target> found = fail(EINVAL, "find the mount");
  if (*where == "/") {
    auto root = open_path(calls, path, nofollow);
    if (!root) return std::unexpected(root.error());
    found = target_at(calls, std::move(*root), "..");
  } else {
    Split parts = split(*where);
    auto parent = open_path(calls, parts.directory.c_str(), O_DIRECTORY);
    if (!parent) return std::unexpected(parent.error());
    found = target_at(calls, std::move(*parent), std::move(parts.entry));
  }
  if (!found) return found;
  const auto same = lies_on(calls, *found, fd, *where);
  if (!same) return std::unexpected(same.error());
  if (!*same) return fail(EINVAL, "find the mount");
  return found;
}

}  // namespace

Result<Target> name_target(const SystemCalls& calls, const char* path, int umount_flags) {
  const int nofollow = (umount_flags & UMOUNT_NOFOLLOW) != 0 ? AT_SYMLINK_NOFOLLOW : 0;
  // The first look-up hands the pointer to the kernel as it is: a bad one is its EFAULT, not our crash.
  const auto meant = mount_id(calls, AT_FDCWD, path, nofollow);
  if (!meant) return std::unexpected(meant.error());
  Split parts = split(path);
  if (is_plain_name(parts.entry)) {
    auto parent = open_path(calls, parts.directory.c_str(), O_DIRECTORY);
    if (!parent) return std::unexpected(parent.error());
    auto found = target_at(calls, std::move(*parent), std::move(parts.entry));
    if (found && found->id.same_mount(*meant)) return found;
  }
  return by_place(calls, path, nofollow != 0 ? O_NOFOLLOW : 0);
}

}  // namespace unmoor::detach
