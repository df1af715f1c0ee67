// SPDX-License-Identifier: MIT
// Several targets on one command line, where waiting for one need not delay the next.
#include <algorithm>
#include <cstdlib>
#include <unistd.h>
#include <unordered_set>

#include "cli/umount/exit_code.h"
#include "cli/umount/interrupt.h"
#include "cli/umount/session.h"
#include "kernel/grace_period.h"
#include "kernel/mount_id.h"

namespace unmoor::cli::umount {

std::optional<int> Session::unmount_together() {
  if (options_.action != Action::kTargets || options_.targets.size() < 2) return std::nullopt;
  if (options_.wait || options_.strict) return std::nullopt;  // each is watched on its own
  if (options_.lazy || options_.fake || options_.read_only || options_.name_space != nullptr) return std::nullopt;
  if (options_.no_canonicalize || ::getuid() != 0 || ::geteuid() != 0) return std::nullopt;
  if (std::getenv("LIBMOUNT_FSTAB") != nullptr || std::getenv("LIBMOUNT_MTAB") != nullptr) return std::nullopt;
  // One after the other costs microseconds each where grace periods are expedited.
  if (options_.jobs < 2 && kernel::grace_period(calls_) == kernel::GracePeriod::kExpedited) return std::nullopt;

  int code = kExitSuccess;
  const std::span<char* const> targets = options_.targets;
  for (std::size_t begin = 0; begin < targets.size() && !interrupted();) {
    // The longest run of targets that are mount points, none of them twice.
    const std::optional<kernel::MountTable> table = read_table();
    if (!table) return kExitSystem;
    const detach::MountTree tree(*table);
    Specials specials(calls_, options_);
    std::unordered_set<int> seen;
    Entries list;
    std::size_t end = begin;
    for (; end < targets.size(); ++end) {
      const auto id = kernel::mount_id(calls_, AT_FDCWD, targets[end], 0, kernel::kStatxMountId);
      const kernel::MountEntry* const entry =
          id && id->is_mount_root ? tree.find(static_cast<int>(id->value)) : nullptr;
      if (entry == nullptr || specials.needs_libmount(*entry) || !seen.insert(entry->id).second) break;
      list.push_back(entry);
    }
    if (list.empty()) {
      code = std::min(code + unmount_target(targets[begin]), 255);
      ++begin;
      continue;
    }
    const std::vector<const char*> given(targets.begin() + static_cast<std::ptrdiff_t>(begin),
                                         targets.begin() + static_cast<std::ptrdiff_t>(end));
    code = std::min(code + unmount_list(*table, list, detach::Discipline::kInOrderGoOn, given), 255);
    begin = end;
  }
  return code;
}

}  // namespace unmoor::cli::umount
