// SPDX-License-Identifier: MIT
#include "kernel/namespaces.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <string_view>

#include "kernel/procfs_text.h"
#include "kernel/statmount.h"
#include "kernel/unique_fd.h"

namespace unmoor::kernel {
namespace {

// The first cgroup namespace's fixed inode number (PROC_CGROUP_INIT_INO).
constexpr std::string_view kFirstCgroupNamespace = "cgroup:[4026531835]";

std::vector<int> sorted_ids(const MountTable& table) {
  std::vector<int> ids;
  for (const MountEntry& mount : table.entries())
    ids.push_back(mount.id);
  std::ranges::sort(ids);
  return ids;
}

struct DirectoryEntry {  // struct linux_dirent64
  std::uint64_t inode;
  std::int64_t offset;
  unsigned short size;
  unsigned char type;
  char name[1];
};

// The numbers that name entries of a directory of /proc.
Result<std::vector<std::string>> numbers_in(const SystemCalls& calls, const std::string& path) {
  const long fd = calls.open(path.c_str(), O_RDONLY | O_DIRECTORY);
  if (fd < 0) return fail_from(fd, "open", path);
  const UniqueFd owner(static_cast<int>(fd));
  std::vector<std::string> names;
  alignas(8) std::array<char, 8192> part;
  for (;;) {
    const long got = calls.call(SYS_getdents64, fd, SystemCalls::pointer(part.data()), part.size());
    if (got < 0) return fail_from(got, "getdents64", path);
    if (got == 0) return names;
    for (long at = 0; at < got;) {
      const char* const entry = part.data() + at;
      unsigned short size = 0;
      std::memcpy(&size, entry + offsetof(DirectoryEntry, size), sizeof size);
      const char* const name = entry + offsetof(DirectoryEntry, name);
      if (name[0] >= '1' && name[0] <= '9') names.emplace_back(name);
      at += size;
    }
  }
}

bool has_ended(const Error& error) {
  return error.code == ENOENT || error.code == ESRCH;
}

}  // namespace

bool shares_mount_namespace_with_pid1(const SystemCalls& calls, const MountTable& own) {
  const auto first = read_link(calls, AT_FDCWD, "/proc/1/ns/mnt");
  const auto mine = read_link(calls, AT_FDCWD, "/proc/thread-self/ns/mnt");
  if (first && mine) return *first == *mine;
  const auto table = MountTable::read(calls, "/proc/1/mountinfo");
  return table && !own.entries().empty() && sorted_ids(*table) == sorted_ids(own);
}

bool sees_whole_mount_namespace(const SystemCalls& calls, const MountTable& own) {
  std::size_t mounts = 0;
  std::array<UniqueMountId, 512> ids;
  for (UniqueMountId last = 0;;) {
    const auto got = list_mounts(calls, kListRoot, last, ids);
    if (!got) return false;
    for (std::size_t i = 0; i < *got; ++i) {
      const auto type = mount_type(calls, ids[i]);
      if (!type) return false;
      if (*type != "rootfs") ++mounts;  // the one below everything that the kernel starts with; nobody's root
    }
    if (*got < ids.size()) break;
    last = ids[*got - 1];
  }
  return mounts != 0 && mounts == own.entries().size();
}

bool in_root_cgroup(const SystemCalls& calls) {
  const auto text = read_text(calls, AT_FDCWD, "/proc/self/cgroup");
  if (!text) return text.error().code == ENOENT;  // a kernel without cgroups; without /proc nothing gets this far
  const auto own_namespace = read_link(calls, AT_FDCWD, "/proc/self/ns/cgroup");
  if (!own_namespace || *own_namespace != kFirstCgroupNamespace) return false;
  std::string_view rest = *text;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    if (!rest.substr(0, end).ends_with(":/")) return false;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return true;
}

bool in_parents_cgroup(const SystemCalls& calls) {
  const long parent = calls.call(SYS_getppid);
  if (parent <= 0) return false;  // outside this pid namespace
  const auto own = read_text(calls, AT_FDCWD, "/proc/self/cgroup");
  const auto its = read_text(calls, AT_FDCWD, ("/proc/" + std::to_string(parent) + "/cgroup").c_str());
  return own && its && *own == *its;
}

Result<std::vector<std::string>> other_mount_namespaces(const SystemCalls& calls) {
  const auto own = read_link(calls, AT_FDCWD, "/proc/thread-self/ns/mnt");
  if (!own) return std::unexpected(own.error());
  const auto processes = numbers_in(calls, "/proc");
  if (!processes) return std::unexpected(processes.error());
  std::map<std::string, std::string> tables;  // namespace -> a table of it; empty: none seen from its root yet
  for (const std::string& process : *processes) {
    const std::string tasks = "/proc/" + process + "/task";
    const auto threads = numbers_in(calls, tasks);
    if (!threads && has_ended(threads.error())) continue;
    if (!threads) return std::unexpected(threads.error());
    for (const std::string& thread : *threads) {
      const std::string task = tasks + "/" + thread;
      auto link = read_link(calls, AT_FDCWD, (task + "/ns/mnt").c_str());
      if (!link && has_ended(link.error())) continue;  // ended, or a zombie without namespaces
      if (!link) return std::unexpected(link.error());
      if (*link == *own) continue;
      std::string& table = tables[*link];
      if (!table.empty()) continue;
      const auto root = read_link(calls, AT_FDCWD, (task + "/root").c_str());
      if (root && *root == "/") table = task + "/mountinfo";
    }
  }
  std::vector<std::string> paths;
  for (auto& [name, table] : tables) {
    if (table.empty()) return fail(EACCES, "read", name);
    paths.push_back(std::move(table));
  }
  return paths;
}

}  // namespace unmoor::kernel
