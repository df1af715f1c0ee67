// SPDX-License-Identifier: MIT
#include "detach/decision.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <sys/sysmacros.h>
#include <unordered_map>
#include <unordered_set>

#include "detach/harmless.h"
#include "detach/propagation.h"
#include "kernel/filesystem_types.h"
#include "kernel/grace_period.h"
#include "kernel/namespaces.h"
#include "kernel/statmount.h"
#include "kernel/unique_fd.h"

namespace unmoor::detach {
namespace {

using kernel::DeviceNumber;
using kernel::MountEntry;
using kernel::MountTable;
using kernel::SystemCalls;
using kernel::UniqueFd;

// What the path leads to may be another mount by now.
bool leads_to_small_tmpfs(const SystemCalls& calls, int directory, const std::string& path, const MountEntry& mount) {
  const UniqueFd fd(static_cast<int>(calls.openat(directory, path.c_str(), O_PATH | O_NOFOLLOW)));
  return fd && is_small_tmpfs(calls, fd.get(), mount.id);
}

// Every mount above it, up to the root that the table is seen from, answers look-ups without asking anybody.
bool reached_locally(const MountTable& table, const MountEntry& mount) {
  const MountEntry* at = table.by_id(mount.parent_id);
  for (std::size_t steps = 0; at != nullptr && steps < table.entries().size(); ++steps) {
    if (!kernel::looks_up_locally(*at)) return false;
    at = table.by_id(at->parent_id);
  }
  return true;
}

Decision refused(DeferReason reason) {
  Decision decision;
  decision.reason = reason;
  return decision;
}

class Judge {
 public:
  Judge(const SystemCalls& calls, const Target& target, const Options& options, const MountTable& table,
        const MountEntry& top)
      : calls_(calls), target_(target), options_(options), table_(table), top_(top) {}

  Decision judge() {
    removed_ = mounts_below(table_, top_);
    if (options_.defer == Defer::kAuto && !types_pass()) return std::move(decision_);
    for (const MountEntry* mount : removed_)
      removed_ids_.insert(mount->id);
    for (const MountEntry* mount : removed_) {
      if (!passes_removed(*mount)) refuse(DeferReason::kFilesystemCounts);
    }
    if (decision_.may_defer() && !propagation_passes()) refuse(DeferReason::kPropagates);
    if (decision_.may_defer() && !shares_namespace_with_pid1() && !own_namespace_passes())
      refuse(DeferReason::kNamespaceCounts);
    return std::move(decision_);
  }

 private:
  void refuse(DeferReason reason) { decision_.reason = reason; }

  // By its id, which is the same in process 1's table if that shows the same namespace.
  bool is_removed(const MountEntry& mount) const { return removed_ids_.contains(mount.id); }

  bool stays_in(const MountTable& table, DeviceNumber device) const {
    return std::ranges::any_of(table.entries(),
                               [&](const MountEntry& other) { return other.device == device && !is_removed(other); });
  }

  bool shares_namespace_with_pid1() {
    if (!shares_) shares_ = kernel::shares_mount_namespace_with_pid1(calls_, table_);
    return *shares_;
  }

  // What the types alone refuse, by conditions 1 and 3, before every tmpfs is asked how big it is: thousands of system
  // calls, which take longer than a grace period.
  bool types_pass() {
    const auto counts = [&](const MountEntry& mount) {
      return !kernel::shuts_down_unseen(mount) && !is_pid1_root(mount);
    };
    if (std::ranges::any_of(removed_, [&](const MountEntry* mount) { return counts(*mount); })) {
      refuse(DeferReason::kFilesystemCounts);
    } else if (!shares_namespace_with_pid1() && std::ranges::any_of(table_.entries(), counts)) {
      refuse(DeferReason::kNamespaceCounts);
    }
    return decision_.may_defer();
  }

  // Condition 1, for a mount that goes.
  bool passes_removed(const MountEntry& mount) {
    if (passes(mount)) return true;
    if (options_.defer != Defer::kElsewhere) return false;
    if (stays_in(table_, mount.device) || stays_in_pid1(mount.device)) {
      decision_.must_stay.push_back(mount.device);
      return true;
    }
    if (kernel::looks_up_locally(mount)) decision_.to_settle.push_back(mount.device);
    return false;
  }

  // Condition 3: the namespace may die with the caller while the helper holds it.
  bool own_namespace_passes() {
    if (!kernel::sees_whole_mount_namespace(calls_, table_)) return false;
    for (const MountEntry& mount : table_.entries()) {
      if (passes(mount)) continue;
      if (options_.defer != Defer::kElsewhere || !stays_in_pid1(mount.device)) return false;
      decision_.must_stay_in_pid1.push_back(mount.device);
    }
    return true;
  }

  // Condition 2. Every mount that goes counts, not only the top: a mount inside the tree takes its copies with it when
  // the mount that it stands on is shared.
  bool propagation_passes() {
    std::unordered_map<int, const MountEntry*> by_id;
    for (const MountEntry& mount : table_.entries())
      by_id.emplace(mount.id, &mount);
    std::optional<Propagation> propagation;
    for (const MountEntry* mount : removed_) {
      const auto parent = by_id.find(mount->parent_id);
      if (parent == by_id.end()) return false;
      if (parent->second->shared_group == 0) continue;
      if (!propagation) {
        if (!kernel::sees_whole_mount_namespace(calls_, table_)) return false;
        auto looked = Propagation::look(calls_, table_);
        if (!looked) return false;
        propagation.emplace(std::move(*looked));
      }
      const auto reached = propagation->removals(*mount);
      if (!reached) return false;
      for (const ReachedMount& other : *reached) {
        // A copy has the superblock of the mount that goes, which was judged; anything else is somebody's own.
        if (other.device != mount->device && !other.shuts_down_unseen) return false;
        if (other.device != mount->device && other.is_tmpfs) return false;
      }
    }
    return true;
  }

  bool passes(const MountEntry& mount) {
    const LateShutdown late = late_shutdown(mount);
    return late == LateShutdown::kUnseen || (late == LateShutdown::kUnseenIfSmall && small(mount)) ||
           is_pid1_root(mount);
  }

  bool small(const MountEntry& mount) {
    if (&mount == &top_) return leads_to_small_tmpfs(calls_, target_.parent.get(), target_.entry, mount);
    const bool below = mount.mount_point.starts_with(top_.mount_point) && is_removed(mount);
    if (below && top_.mount_point != "/") {
      const std::string inside(mount.mount_point.substr(top_.mount_point.size()));
      return leads_to_small_tmpfs(calls_, target_.parent.get(), target_.entry + inside, mount);
    }
    return reached_locally(table_, mount) &&
           leads_to_small_tmpfs(calls_, AT_FDCWD, std::string(mount.mount_point), mount);
  }

  const MountTable* pid1() {
    if (!asked_pid1_) {
      asked_pid1_ = true;
      auto table = MountTable::read(calls_, "/proc/1/mountinfo");
      if (table) pid1_ = std::make_unique<MountTable>(std::move(*table));
    }
    return pid1_.get();
  }

  bool stays_in_pid1(DeviceNumber device) {
    const MountTable* table = pid1();
    return table != nullptr && stays_in(*table, device);
  }

  bool is_pid1_root(const MountEntry& mount) {
    const MountTable* table = pid1();
    if (table != nullptr && !asked_pid1_root_) {
      asked_pid1_root_ = true;
      for (const MountEntry& other : table->entries()) {
        if (other.mount_point == "/") pid1_root_ = other.device;  // the last one listed there is on top
      }
    }
    return pid1_root_ && *pid1_root_ == mount.device;
  }

  const SystemCalls& calls_;
  const Target& target_;
  const Options& options_;
  const MountTable& table_;
  const MountEntry& top_;
  std::vector<const MountEntry*> removed_;
  std::unordered_set<int> removed_ids_;
  std::optional<bool> shares_;
  bool asked_pid1_ = false;
  bool asked_pid1_root_ = false;
  std::optional<DeviceNumber> pid1_root_;
  std::unique_ptr<MountTable> pid1_;
  Decision decision_;
};

}  // namespace

bool grace_periods_are_slow(const SystemCalls& calls) {
  return kernel::grace_period(calls) == kernel::GracePeriod::kNormal;
}

Decision decide(const SystemCalls& calls, const Target& target, const Options& options) {
  if (calls.call(SYS_getpid) == 1) return refused(DeferReason::kPid1);
  if (!kernel::in_root_cgroup(calls) && (options.caller != Caller::kProgram || !kernel::in_parents_cgroup(calls))) {
    return refused(DeferReason::kCgroup);
  }
  const auto id =
      kernel::mount_id(calls, target.parent.get(), target.entry.c_str(), AT_SYMLINK_NOFOLLOW, kernel::kStatxMountId);
  std::optional<MountTable> read_now;
  if (options.table == nullptr) {
    auto table = MountTable::read(calls);
    if (table) read_now.emplace(std::move(*table));
  }
  const MountTable* const table = options.table != nullptr ? options.table : read_now ? &*read_now : nullptr;
  if (!id || table == nullptr) return refused(DeferReason::kNotSeen);
  const MountEntry* top = table->by_id(static_cast<int>(id->value));
  if (top == nullptr) return refused(DeferReason::kNotSeen);
  return Judge(calls, target, options, *table, *top).judge();
}

bool asks_a_server(const SystemCalls& calls, const Target& target) {
  if (target.id.unique()) {
    std::array<kernel::UniqueMountId, 1> first_below;
    const auto below = kernel::list_mounts(calls, target.id.value, 0, first_below);
    const auto type = kernel::mount_type(calls, target.id.value);
    if (below && *below == 0 && type) {
      MountEntry alone;
      alone.type = *type;
      return !kernel::looks_up_locally(alone);
    }
  }
  const auto id =
      kernel::mount_id(calls, target.parent.get(), target.entry.c_str(), AT_SYMLINK_NOFOLLOW, kernel::kStatxMountId);
  const auto table = MountTable::read(calls);
  if (!id || !table) return true;
  const MountEntry* top = table->by_id(static_cast<int>(id->value));
  if (top == nullptr) return true;
  return !std::ranges::all_of(mounts_below(*table, *top),
                              [](const MountEntry* mount) { return kernel::looks_up_locally(*mount); });
}

bool still_holds(const SystemCalls& calls, const Decision& decision) {
  if (decision.must_stay.empty() && decision.must_stay_in_pid1.empty()) return true;
  const auto own = MountTable::read(calls);
  const auto first = MountTable::read(calls, "/proc/1/mountinfo");
  const auto mounted = [](const Result<MountTable>& table, DeviceNumber device) {
    return table && std::ranges::find(table->entries(), device, &MountEntry::device) != table->entries().end();
  };
  return std::ranges::all_of(decision.must_stay,
                             [&](DeviceNumber device) { return mounted(own, device) || mounted(first, device); }) &&
         std::ranges::all_of(decision.must_stay_in_pid1, [&](DeviceNumber device) { return mounted(first, device); });
}

void settle(const SystemCalls& calls, const std::vector<DeviceNumber>& devices) {
#ifdef SYS_ustat
  constexpr int kTries = 100;  // of a millisecond each: several grace periods, and then somebody else holds it
  for (const DeviceNumber device : devices) {
    for (int tries = 0; tries < kTries; ++tries) {
      std::array<char, 64> answer{};
      const auto number = static_cast<unsigned>(makedev(device.major, device.minor));
      if (calls.call(SYS_ustat, number, SystemCalls::pointer(answer.data())) == -EINVAL) break;
      const struct timespec pause{0, 1000000};
      static_cast<void>(calls.call(SYS_nanosleep, SystemCalls::pointer(&pause), 0));
    }
  }
#else
  // No way to ask for the superblock: wait for two grace periods of our own, which end after everybody's that began
  // before. MEMBARRIER_CMD_GLOBAL is one.
  constexpr int kMembarrierGlobal = 1;
  if (devices.empty()) return;
  for (int i = 0; i < 2; ++i)
    static_cast<void>(calls.call(SYS_membarrier, kMembarrierGlobal, 0, 0));
#endif
}

}  // namespace unmoor::detach
