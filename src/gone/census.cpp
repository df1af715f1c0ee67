// SPDX-License-Identifier: MIT
#include "gone/census.h"

#include <algorithm>
#include <map>
#include <thread>

#include "kernel/procfs_directory.h"
#include "kernel/procfs_text.h"

namespace unmoor::gone {
namespace {

using kernel::MountEntry;
using kernel::MountTable;
using kernel::NamespaceInode;
using kernel::UniqueFd;

Result<MountTable> table_of_process(const kernel::SystemCalls& calls, int proc, pid_t pid) {
  const std::string path = std::to_string(pid) + "/mountinfo";
  const long fd = calls.openat(proc, path.c_str(), O_RDONLY);
  if (fd < 0) return fail_from(fd, "open", path);
  const UniqueFd owner(static_cast<int>(fd));
  return MountTable::read(calls, owner.get());
}

// Runs `work` on a thread of its own, which may enter other namespaces.
template <typename Work>
void on_visiting_thread(const kernel::SystemCalls& calls, int proc, Work work) {
  const auto body = [&] {
    const Result<kernel::NamespaceVisitor> visitor = kernel::NamespaceVisitor::on_this_thread(calls, proc);
    work(visitor ? &*visitor : nullptr);
  };
  std::thread(body).join();
}

}  // namespace

Result<Census> Census::take(const kernel::SystemCalls& calls) {
  Result<UniqueFd> proc = kernel::open_directory(calls, AT_FDCWD, "/proc");
  if (!proc) return std::unexpected(proc.error());
  Census census(calls, std::move(*proc));
  Result<NamespaceInode> own = kernel::namespace_inode(calls, census.proc(), "thread-self/ns/mnt");
  if (!own) return std::unexpected(own.error());
  const long fd = calls.openat(census.proc(), "thread-self/mountinfo", O_RDONLY);
  if (fd < 0) return fail_from(fd, "open", "/proc/thread-self/mountinfo");
  const UniqueFd owner(static_cast<int>(fd));
  Result<MountTable> table = MountTable::read(calls, owner.get());
  if (!table) return std::unexpected(table.error());
  NamespaceKeeper us{.by = NamespaceKeeper::By::kProcess, .pid = 0, .descriptor = -1, .path = {}, .processes = 0};
  census.insert({*own, std::move(us), std::move(*table)});
  census.list_processes();
  census.read_namespaces();
  census.add_kept_by_mounts();
  return census;
}

void Census::list_processes() {
  (void)kernel::for_each_name(*calls_, proc(), [&](std::string_view name) {
    const int pid = kernel::numeric_name(name);
    if (pid <= 0) return;
    const std::string link = std::string(name) + "/ns/mnt";
    const Result<NamespaceInode> inode = kernel::namespace_inode(*calls_, proc(), link.c_str());
    // A zombie has no namespaces (ENOENT) and one that has gone meanwhile holds nothing.
    if (!inode && inode.error().code != EACCES && inode.error().code != EPERM) {
      if (inode.error().code == ENOENT) processes_.push_back({pid, 0});
      return;
    }
    if (!inode) ++hidden_processes_;
    processes_.push_back({pid, inode ? *inode : 0});
  });
}

void Census::read_namespaces() {
  std::map<NamespaceInode, std::vector<pid_t>> members;
  for (const ProcessEntry& process : processes_) {
    if (process.mount_namespace != 0) members[process.mount_namespace].push_back(process.pid);
  }
  const NamespaceInode ours = own().inode;
  namespaces_.front().keeper.processes = members[ours].size();
  on_visiting_thread(*calls_, proc(), [&](const kernel::NamespaceVisitor* visitor) {
    for (const auto& [inode, pids] : members) {
      bool read = false;
      // The processes of a namespace may exit while we read: the next one is as good.
      for (std::size_t i = 0; i < pids.size() && !read; ++i) {
        const std::string link = std::to_string(pids[i]) + "/ns/mnt";
        const long fd = visitor == nullptr ? -EPERM : calls_->openat(proc(), link.c_str(), O_RDONLY);
        Result<MountTable> table =
            fd < 0 ? fail_from(fd, "open", link) : visitor->table_of(UniqueFd(static_cast<int>(fd)));
        if (!table && inode != ours) table = table_of_process(*calls_, proc(), pids[i]);
        if (!table) continue;
        read = true;
        // Our own has been read already, from our root. Entered, it may show more: mounts outside a chroot.
        if (inode == ours && table->entries().size() <= own().table.entries().size()) continue;
        NamespaceKeeper keeper{.by = NamespaceKeeper::By::kProcess,
                               .pid = pids[i],
                               .descriptor = -1,
                               .path = {},
                               .processes = pids.size()};
        insert({inode, std::move(keeper), std::move(*table)});
      }
      if (!read && inode != ours) ++unread_namespaces_;
    }
    if (visitor == nullptr) return;
    (void)kernel::for_each_mount_namespace(*calls_, proc(), [&](NamespaceInode inode, UniqueFd fd) {
      if (namespace_index_.contains(inode)) return;
      Result<MountTable> table = visitor->table_of(std::move(fd));
      if (table) insert({inode, {}, std::move(*table)});
      if (!table) ++unread_namespaces_;
    });
  });
}

// Bind mounts of a namespace's file, in our own namespace: also what names the namespace to nsenter(1).
void Census::add_kept_by_mounts() {
  std::vector<std::pair<NamespaceInode, std::string>> kept;
  for (const MountEntry& entry : own().table.entries()) {
    if (entry.type != "nsfs") continue;
    const NamespaceInode inode = kernel::parse_mount_namespace_link(entry.root);
    if (inode != 0) kept.emplace_back(inode, std::string(entry.mount_point));
  }
  for (auto& [inode, path] : kept) {
    const NamespaceKeeper keeper{
        .by = NamespaceKeeper::By::kMount, .pid = 0, .descriptor = -1, .path = path, .processes = 0};
    add_namespace(inode, keeper, path);
  }
}

bool Census::add_namespace(NamespaceInode inode, const NamespaceKeeper& keeper, const std::string& link) {
  if (const auto known = namespace_index_.find(inode); known != namespace_index_.end()) {
    NamespaceEntry& entry = namespaces_[known->second];
    if (entry.keeper.by == NamespaceKeeper::By::kNobodySeen) entry.keeper = keeper;
    return false;
  }
  bool added = false;
  on_visiting_thread(*calls_, proc(), [&](const kernel::NamespaceVisitor* visitor) {
    if (visitor == nullptr) return;
    const long fd = calls_->openat(proc(), link.c_str(), O_RDONLY);
    if (fd < 0) return;
    Result<MountTable> table = visitor->table_of(UniqueFd(static_cast<int>(fd)));
    if (!table) return;
    insert({inode, keeper, std::move(*table)});
    added = true;
  });
  if (!added) ++unread_namespaces_;
  return added;
}

void Census::insert(NamespaceEntry entry) {
  const std::size_t at = namespaces_.size();
  namespace_index_.try_emplace(entry.inode, at);
  namespaces_.push_back(std::move(entry));
  const std::span<const MountEntry> entries = namespaces_.back().table.entries();
  for (std::size_t i = 0; i < entries.size(); ++i)
    mounts_.try_emplace(static_cast<std::uint64_t>(entries[i].id), MountPlace{at, i});
}

const MountTable* Census::table_of(NamespaceInode inode) const {
  const auto found = namespace_index_.find(inode);
  return found == namespace_index_.end() ? nullptr : &namespaces_[found->second].table;
}

std::optional<MountPlace> Census::find_mount(std::uint64_t id) const {
  const auto found = mounts_.find(id);
  if (found == mounts_.end()) return std::nullopt;
  return found->second;
}

}  // namespace unmoor::gone
