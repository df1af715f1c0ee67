// SPDX-License-Identifier: MIT
// What an unmount takes with it: the mounts below, and those that propagation reaches in this and other namespaces.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "kernel/error.h"
#include "kernel/mount_table.h"
#include "kernel/system_calls.h"

namespace unmoor::detach {

// `top` and everything mounted below it, in no particular order.
[[nodiscard]] std::vector<const kernel::MountEntry*> mounts_below(const kernel::MountTable& table,
                                                                  const kernel::MountEntry& top);

struct ReachedMount {
  kernel::DeviceNumber device;
  bool shuts_down_unseen;
  bool is_tmpfs;
};

// Who receives propagation from whom, in all namespaces that have a task, as one look at each of their tables says.
// Namespaces that only a descriptor keeps alive are not seen.
class Propagation {
 public:
  // `own` is the calling thread's table and must stay. Errors: a namespace that may not be read, or one kept by a
  // mounted file.
  [[nodiscard]] static Result<Propagation> look(const kernel::SystemCalls& calls, const kernel::MountTable& own);

  // Mounts at the place of `mount`, a line of `own`, on every mount that receives propagation from its parent: more
  // than the kernel removes, never less. Errors: the table does not tell its place.
  [[nodiscard]] Result<std::vector<ReachedMount>> removals(const kernel::MountEntry& mount) const;

 private:
  // A mount of one of the tables.
  using Numbered = std::uint64_t;

  Propagation() = default;
  void add(std::size_t number, const kernel::MountTable& table);
  // Peer groups reached from `group`: slaves that are shared hand it on.
  [[nodiscard]] std::set<int> receiving_groups(int group) const;

  std::vector<kernel::MountTable> others_;
  std::unordered_map<int, const kernel::MountEntry*> own_by_id_;
  std::unordered_multimap<int, int> slaves_;        // shared ones: peer group by master's group
  std::unordered_multimap<int, Numbered> members_;  // of a peer group, and its slaves
  std::unordered_map<std::string, std::vector<const kernel::MountEntry*>> at_place_;  // of a mount
  std::unordered_map<Numbered, std::vector<const kernel::MountEntry*>> somewhere_;    // on a mount, not told where
};

}  // namespace unmoor::detach
