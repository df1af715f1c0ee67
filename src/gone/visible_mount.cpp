// SPDX-License-Identifier: MIT
#include "gone/visible_mount.h"

#include <algorithm>
#include <array>
#include <unordered_set>

#include <climits>

#include "kernel/procfs_place.h"
#include "kernel/procfs_text.h"

namespace unmoor::gone {
namespace {

using kernel::MountEntry;

bool is_prefix(std::string_view mount_point, std::string_view path) {
  if (mount_point == "/") return true;
  return path.starts_with(mount_point) && (path.size() == mount_point.size() || path[mount_point.size()] == '/');
}

// The first mount that a walk meets below `parent` (or at its own root), on the way to `path`.
const MountEntry* next_mount(const kernel::MountTable& table, const MountEntry& parent, std::string_view path) {
  const MountEntry* next = nullptr;
  for (const MountEntry& entry : table.entries()) {
    if (entry.parent_id != parent.id || entry.id == parent.id || !is_prefix(entry.mount_point, path)) continue;
    if (next == nullptr || entry.mount_point.size() < next->mount_point.size()) next = &entry;
  }
  return next;
}

// Where walks start: the mount with the shortest mount point whose parent is outside the table.
const MountEntry* start_mount(const kernel::MountTable& table, std::string_view path) {
  std::unordered_set<int> ids;
  for (const MountEntry& entry : table.entries())
    ids.insert(entry.id);
  const MountEntry* start = nullptr;
  for (const MountEntry& entry : table.entries()) {
    if ((ids.contains(entry.parent_id) && entry.parent_id != entry.id) || !is_prefix(entry.mount_point, path)) continue;
    if (start == nullptr || entry.mount_point.size() < start->mount_point.size()) start = &entry;
  }
  return start;
}

}  // namespace

const MountEntry* visible_mount(const kernel::MountTable& table, std::string_view path) {
  const MountEntry* at = start_mount(table, path);
  for (const MountEntry* next = at; next != nullptr; next = next_mount(table, *at, path))
    at = next;
  return at;
}

bool answers_by_itself(std::string_view type) {
  const std::string_view family = type.substr(0, type.find('.'));
  return family != "fuse" && family != "fuseblk" && family != "autofs" && !kernel::may_revalidate(family);
}

Result<std::string> normal_path(const kernel::SystemCalls& calls, std::string_view path) {
  std::string text;
  if (!path.starts_with('/')) {
    std::array<char, PATH_MAX> cwd;
    const long length = calls.call(SYS_getcwd, kernel::SystemCalls::pointer(cwd.data()), cwd.size());
    if (length < 0) return fail_from(length, "getcwd");
    text = cwd.data();
    text += '/';
  }
  text += path;
  std::string normal;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view part = kernel::take_until(rest, '/');
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      normal.resize(std::min(normal.rfind('/'), normal.size()));
      continue;
    }
    normal += '/';
    normal += part;
  }
  return normal.empty() ? "/" : normal;
}

Result<std::string> resolved_path(const kernel::SystemCalls& calls, const kernel::MountTable& table,
                                  std::string_view path) {
  Result<std::string> whole = normal_path(calls, path);
  if (!whole) return whole;
  std::string rest = std::move(*whole);
  std::string done;
  int links = 0;
  while (!rest.empty() && rest != "/") {
    const std::size_t end = std::min(rest.find('/', 1), rest.size());
    const std::string candidate = done + rest.substr(0, end);
    rest.erase(0, end);
    // The parent directory is where the name is looked up.
    const MountEntry* const mount = visible_mount(table, done.empty() ? "/" : done);
    if (mount != nullptr && !answers_by_itself(mount->type)) return candidate + rest;
    const Result<std::string> link = kernel::read_link(calls, AT_FDCWD, candidate.c_str());
    if (!link) {
      done = candidate;
      continue;
    }
    if (++links > 40) return fail(ELOOP, "follow the links of", std::string(path));
    Result<std::string> target = normal_path(calls, link->starts_with('/') ? *link : done + "/" + *link);
    if (!target) return target;
    rest = (*target == "/" ? "" : *target) + rest;
    done.clear();
  }
  return done.empty() ? "/" : done;
}

}  // namespace unmoor::gone
