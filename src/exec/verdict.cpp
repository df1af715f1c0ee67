// SPDX-License-Identifier: MIT
#include "exec/verdict.h"

#include <algorithm>
#include <fcntl.h>
#include <linux/magic.h>
#include <string>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <utility>
#include <vector>

#include "kernel/filesystem_types.h"
#include "kernel/unique_fd.h"

namespace unmoor::exec {
namespace {

using detach::Defer;
using detach::DeferReason;
using kernel::DeviceNumber;
using kernel::MountEntry;
using kernel::MountTable;

constexpr std::uint64_t kSmallTmpfs = 4 << 20;  // what a release may free late without anybody running out of memory

enum class Passes { kNo, kYes };

class Judge {
 public:
  explicit Judge(const Question& question) : question_(question) { find_leaving(); }

  Verdict verdict() {
    if (question_.defer == Defer::kAlways) return {DeferReason::kDeferred, !question_.own, {}};
    if (question_.defer == Defer::kNever) return {DeferReason::kNever, false, {}};
    if (question_.target != 0 && !propagation_passes()) return {DeferReason::kPropagates, false, {}};
    for (const MountEntry& entry : question_.inside.entries())
      if (judge(entry) == Passes::kNo)
        return {leaves(entry) ? DeferReason::kFilesystemCounts : DeferReason::kNamespaceCounts, false, {}};
    // A container lives for any length of time, its tmpfs may grow, its processes may mount: where nobody may notice
    // anything, its namespace is not kept.
    verdict_.may_keep = !question_.own && question_.defer == Defer::kElsewhere;
    return std::move(verdict_);
  }

 private:
  void find_leaving() {
    const MountEntry* const top = question_.target != 0 ? question_.inside.by_id(question_.target) : nullptr;
    if (top == nullptr) return;
    for (const MountEntry* entry : detach::mounts_below(question_.inside, *top))
      leaving_.push_back(entry->id);
  }

  [[nodiscard]] bool leaves(int id) const { return std::ranges::find(leaving_, id) != leaving_.end(); }
  [[nodiscard]] bool leaves(const MountEntry& entry) const { return leaves(entry.id); }

  // Only the top's parent matters: below it everything goes anyway, and its copies go with the copies of the top.
  bool propagation_passes() {
    const MountEntry* const top = question_.inside.by_id(question_.target);
    const MountEntry* const parent = top != nullptr ? question_.inside.by_id(top->parent_id) : nullptr;
    if (parent == nullptr) return false;
    if (parent->shared_group == 0) return true;
    return question_.reached && std::ranges::all_of(*question_.reached, [this](const detach::ReachedMount& mount) {
             if (mount.device == question_.init_root || (mount.shuts_down_unseen && !mount.is_tmpfs)) return true;
             return question_.defer == Defer::kElsewhere && relies_on(mount.device);
           });
  }

  [[nodiscard]] bool harmless(const MountEntry& entry) const {
    return question_.init_root == entry.device || (entry.type != "tmpfs" && kernel::shuts_down_unseen(entry));
  }

  [[nodiscard]] bool is_small_tmpfs(const MountEntry& entry) const {
    if (entry.type != "tmpfs") return false;
    if (question_.tmpfs == TmpfsSize::kAssumed) return true;
    struct ::statfs facts{};
    if (entry.id == question_.target) {
      if (::fstatfs(question_.target_fd, &facts) != 0) return false;
    } else {
      // Its path may lead to another mount by now, or never have led there: a covered one, one below the target.
      const kernel::UniqueFd fd(
          ::open(std::string(entry.mount_point).c_str(), O_PATH | O_CLOEXEC | O_NOFOLLOW | O_DIRECTORY));
      struct ::statx where{};
      if (!fd || ::statx(fd.get(), "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID, &where) != 0 ||
          where.stx_mnt_id != static_cast<std::uint64_t>(entry.id) || ::fstatfs(fd.get(), &facts) != 0)
        return false;
    }
    return facts.f_type == TMPFS_MAGIC &&
           (facts.f_blocks - facts.f_bfree) * static_cast<std::uint64_t>(facts.f_bsize) <= kSmallTmpfs;
  }

  bool relies_on(const DeviceNumber& device) {
    if (!is_elsewhere(device)) return false;
    verdict_.must_stay.push_back(device);
    return true;
  }

  [[nodiscard]] bool is_elsewhere(const DeviceNumber& device) const {
    if (question_.own && question_.target != 0 && stays_inside(device)) return true;
    return still_mounted(std::span(&device, 1), question_.outside);
  }

  [[nodiscard]] bool stays_inside(const DeviceNumber& device) const {
    return std::ranges::any_of(question_.inside.entries(),
                               [&](const MountEntry& entry) { return entry.device == device && !leaves(entry); });
  }

  Passes judge(const MountEntry& entry) {
    // What stays in the broker's own namespace was judged when the broker started (see Outside).
    if (question_.own && question_.target != 0 && !leaves(entry)) return Passes::kYes;
    const auto known = std::ranges::find(judged_, entry.device, &Judged::device);
    if (known != judged_.end()) return known->passes;
    Passes passes = Passes::kNo;
    if (harmless(entry))
      passes = Passes::kYes;
    else if (question_.defer == Defer::kElsewhere && relies_on(entry.device))
      passes = Passes::kYes;
    else if (is_small_tmpfs(entry))
      passes = Passes::kYes;
    if (entry.type != "nsfs") judged_.push_back({entry.device, passes});  // there, each file counts for itself
    return passes;
  }

  struct Judged {
    DeviceNumber device;
    Passes passes;
  };

  const Question& question_;
  Verdict verdict_;
  std::vector<int> leaving_;
  std::vector<Judged> judged_;
};

}  // namespace

bool still_mounted(std::span<const DeviceNumber> devices, std::span<const MountTable> tables) {
  return std::ranges::all_of(devices, [&](const DeviceNumber& device) {
    return std::ranges::any_of(tables, [&](const MountTable& table) {
      return std::ranges::find(table.entries(), device, &MountEntry::device) != table.entries().end();
    });
  });
}

Verdict judge(const Question& question) {
  return Judge(question).verdict();
}

}  // namespace unmoor::exec
