// SPDX-License-Identifier: MIT
// -R and -A: mounts that belong together.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <unistd.h>
#include <unordered_set>

#include <climits>

#include "cli/umount/exit_code.h"
#include "cli/umount/name_space.h"
#include "cli/umount/session.h"
#include "cli/umount/spelled_out.h"
#include "detach/many/subtree.h"
#include "kernel/mount_id.h"

namespace unmoor::cli::umount {
namespace {

using kernel::MountEntry;

const MountEntry* last_at(const kernel::MountTable& table, std::string_view mount_point) {
  const auto entries = table.entries();
  const auto found = std::find_if(entries.rbegin(), entries.rend(),
                                  [&](const MountEntry& entry) { return entry.mount_point == mount_point; });
  return found == entries.rend() ? nullptr : &*found;
}

// The mount of a loop device that `file` is behind.
const MountEntry* last_on_loop_over(const kernel::SystemCalls& calls, const kernel::MountTable& table,
                                    const std::string& file) {
  const auto entries = table.entries();
  const auto found = std::find_if(entries.rbegin(), entries.rend(), [&](const MountEntry& entry) {
    if (entry.device.major != kLoopMajor) return false;
    const std::string number = std::to_string(entry.device.major) + ":" + std::to_string(entry.device.minor);
    return read_file(calls, ("/sys/dev/block/" + number + "/loop/backing_file").c_str()) == file + "\n";
  });
  return found == entries.rend() ? nullptr : &*found;
}

}  // namespace

const MountEntry* Session::mounted_at(const kernel::MountTable& table, const char* target) const {
  if (options_.no_canonicalize) return last_at(table, spelled_out(target));
  const auto id = kernel::mount_id(calls_, AT_FDCWD, target, 0, kernel::kStatxMountId);
  if (id) return id->is_mount_root ? table.by_id(static_cast<int>(id->value)) : nullptr;
  if (id.error().code != EOPNOTSUPP && id.error().code != ENOSYS) return nullptr;
  // A kernel without mount ids: by name.
  char* const real = ::realpath(target, nullptr);
  const MountEntry* const entry = real != nullptr ? last_at(table, real) : nullptr;
  std::free(real);
  return entry;
}

const MountEntry* Session::mounted_from(const kernel::MountTable& table, const char* source) {
  std::string name = source;
  if (name.find('=') != std::string::npos) {
    if (Libmount* const library = libmount(false)) name = library->device_of(source);
  }
  const auto entries = table.entries();
  const auto from = [&](const std::string& device) {
    const auto found =
        std::find_if(entries.rbegin(), entries.rend(), [&](const MountEntry& entry) { return entry.source == device; });
    return found == entries.rend() ? nullptr : &*found;
  };
  if (name.empty()) return nullptr;
  if (const MountEntry* const entry = from(name)) return entry;
  char* const real = ::realpath(name.c_str(), nullptr);
  if (real == nullptr) return nullptr;
  name = real;
  std::free(real);
  const MountEntry* const entry = from(name);
  return entry != nullptr ? entry : last_on_loop_over(calls_, table, name);
}

int Session::not_found(const char* target) {
  const NameSpaceVisit visit(calls_, options_.name_space);
  struct ::statx facts{};
  const bool there = calls_.statx(AT_FDCWD, target, AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC, 0, &facts) == 0;
  report_.no_such_mount(target, there);
  return kExitUsage;
}

int Session::unmount_tree(const char* target) {
  std::optional<kernel::MountTable> table;
  const MountEntry* top = nullptr;
  {
    const NameSpaceVisit visit(calls_, options_.name_space);
    table = read_table();
    if (!table) return kExitSystem;
    top = mounted_at(*table, target);
  }
  if (top == nullptr) return not_found(target);
  const detach::MountTree tree(*table);
  const auto discipline =
      options_.voice == Voice::kUmount ? detach::Discipline::kInOrderStop : detach::Discipline::kFreely;
  return unmount_list(*table, tree.unmount_order(*top), discipline, {});
}

int Session::unmount_all_targets(const char* target) {
  std::optional<kernel::MountTable> table;
  const MountEntry* one = nullptr;
  {
    const NameSpaceVisit visit(calls_, options_.name_space);
    table = read_table();
    if (!table) return kExitSystem;
    one = mounted_at(*table, target);
    if (one == nullptr) one = mounted_from(*table, target);
  }
  if (one == nullptr) return not_found(target);
  const detach::MountTree tree(*table);
  Entries list;
  std::unordered_set<int> listed;
  const auto entries = table->entries();
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    if (entry->device != one->device) continue;
    const Entries part = options_.recursive ? tree.unmount_order(*entry) : Entries{&*entry};
    for (const MountEntry* const mount : part) {
      if (listed.insert(mount->id).second) list.push_back(mount);
    }
  }
  const auto discipline =
      options_.voice == Voice::kUmount ? detach::Discipline::kInOrderStop : detach::Discipline::kFreely;
  return unmount_list(*table, list, discipline, {});
}

}  // namespace unmoor::cli::umount
