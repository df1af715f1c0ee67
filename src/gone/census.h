// SPDX-License-Identifier: MIT
// Every process and every mount namespace that can be seen, each with its mount table: read once, for any number of
// questions.
#pragma once

#include <deque>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "kernel/mount_namespaces.h"
#include "kernel/mount_table.h"
#include "kernel/system_calls.h"
#include "kernel/unique_fd.h"

namespace unmoor::gone {

struct ProcessEntry {
  pid_t pid = 0;
  kernel::NamespaceInode mount_namespace = 0;  // 0: not allowed to know
};

// What keeps a mount namespace alive, as far as one can see.
struct NamespaceKeeper {
  enum class By { kProcess, kDescriptor, kMount, kNobodySeen };
  By by = By::kNobodySeen;
  pid_t pid = 0;  // of the process, or of the descriptor's owner
  int descriptor = -1;
  std::string path{};  // mount point of its nsfs file, in our namespace
  std::size_t processes = 0;
};

struct NamespaceEntry {
  kernel::NamespaceInode inode = 0;
  NamespaceKeeper keeper;
  kernel::MountTable table;
};

// A mount somewhere: which namespace, which line.
struct MountPlace {
  std::size_t name_space = 0;
  std::size_t entry = 0;
};

class Census {
 public:
  // Reads /proc. Errors: no /proc, or no mount table of our own. What is not allowed is counted, not an error.
  [[nodiscard]] static Result<Census> take(const kernel::SystemCalls& calls);

  [[nodiscard]] const kernel::SystemCalls& calls() const { return *calls_; }
  [[nodiscard]] int proc() const { return proc_.get(); }
  [[nodiscard]] std::span<const ProcessEntry> processes() const { return processes_; }
  // Ours is the first, seen from our root as far as mount points go.
  [[nodiscard]] const std::deque<NamespaceEntry>& namespaces() const { return namespaces_; }
  [[nodiscard]] const NamespaceEntry& own() const { return namespaces_.front(); }
  [[nodiscard]] const kernel::MountEntry& entry(const MountPlace& place) const {
    return namespaces_[place.name_space].table.entries()[place.entry];
  }
  // nullptr when the table of that namespace was not read.
  [[nodiscard]] const kernel::MountTable* table_of(kernel::NamespaceInode inode) const;
  // Nothing when no table that was read has this id.
  [[nodiscard]] std::optional<MountPlace> find_mount(std::uint64_t id) const;
  [[nodiscard]] const std::unordered_map<std::uint64_t, MountPlace>& mounts() const { return mounts_; }

  // Processes whose namespace we may not know, and namespaces whose table could not be read.
  [[nodiscard]] std::size_t hidden_processes() const { return hidden_processes_; }
  [[nodiscard]] std::size_t unread_namespaces() const { return unread_namespaces_; }

  // A namespace that a scan came across (a thread's own, or one kept by a descriptor). Its table is read unless it is
  // known; the keeper is noted when none was. True when the namespace is new.
  bool add_namespace(kernel::NamespaceInode inode, const NamespaceKeeper& keeper, const std::string& link);

 private:
  Census(const kernel::SystemCalls& calls, kernel::UniqueFd proc) : calls_(&calls), proc_(std::move(proc)) {}
  void list_processes();
  void read_namespaces();
  void add_kept_by_mounts();
  void insert(NamespaceEntry entry);

  const kernel::SystemCalls* calls_;
  kernel::UniqueFd proc_;
  std::vector<ProcessEntry> processes_{};
  std::deque<NamespaceEntry> namespaces_;  // a scan keeps pointers to the tables while more are added
  std::unordered_map<kernel::NamespaceInode, std::size_t> namespace_index_;
  std::unordered_map<std::uint64_t, MountPlace> mounts_;
  std::size_t hidden_processes_ = 0;
  std::size_t unread_namespaces_ = 0;
};

}  // namespace unmoor::gone
