// SPDX-License-Identifier: MIT
#include "exec/verdict.h"

#include <algorithm>
#include <fcntl.h>
#include <string>
#include <utility>
#include <vector>

#include "detach/harmless.h"
#include "kernel/unique_fd.h"

namespace unmoor::exec {
namespace {

using detach::Defer;
using detach::DeferReason;
using detach::LateShutdown;
using kernel::DeviceNumber;
using kernel::MountEntry;
using kernel::MountTable;

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
    if (top != nullptr) leaving_ = detach::mounts_below(question_.inside, *top);
  }

  [[nodiscard]] bool leaves(const MountEntry& entry) const {
    return std::ranges::find(leaving_, &entry) != leaving_.end();
  }

  // Every mount that goes counts: one inside the tree takes its copies with it when what it stands on is shared.
  bool propagation_passes() {
    if (leaving_.empty()) return false;
    const bool reaches_nobody = std::ranges::all_of(leaving_, [this](const MountEntry* entry) {
      const MountEntry* const parent = question_.inside.by_id(entry->parent_id);
      return parent != nullptr && parent->shared_group == 0;
    });
    if (reaches_nobody) return true;
    return question_.reached && std::ranges::all_of(*question_.reached, [this](const detach::ReachedMount& mount) {
             if (mount.device == question_.init_root || (mount.shuts_down_unseen && !mount.is_tmpfs)) return true;
             return question_.defer == Defer::kElsewhere && relies_on(mount.device);
           });
  }

  [[nodiscard]] bool is_small(const MountEntry& entry) const {
    if (question_.tmpfs == TmpfsSize::kAssumed) return true;
    if (entry.id == question_.target) return detach::is_small_tmpfs(question_.calls, question_.target_fd, entry.id);
    // Its path may lead to another mount by now, or never have led there: a covered one, one below the target.
    const kernel::UniqueFd fd(static_cast<int>(
        question_.calls.open(std::string(entry.mount_point).c_str(), O_PATH | O_NOFOLLOW | O_DIRECTORY)));
    return fd && detach::is_small_tmpfs(question_.calls, fd.get(), entry.id);
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
    const LateShutdown late = detach::late_shutdown(entry);
    if (question_.init_root == entry.device || late == LateShutdown::kUnseen ||
        (question_.defer == Defer::kElsewhere && relies_on(entry.device)) ||
        (late == LateShutdown::kUnseenIfSmall && is_small(entry)))
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
  std::vector<const MountEntry*> leaving_;
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
