// SPDX-License-Identifier: MIT
#include "exec/verdict.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fcntl.h>
#include <linux/magic.h>
#include <string>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <vector>

#include "kernel/unique_fd.h"

namespace unmoor::exec {
namespace {

using detach::Defer;
using detach::DeferReason;
using kernel::DeviceNumber;
using kernel::MountEntry;
using kernel::MountTable;

constexpr std::uint64_t kSmallTmpfs = 4 << 20;  // what a release may free late without anybody running out of memory

// Filesystems whose shutdown nobody can be waiting for.
constexpr std::array<std::string_view, 8> kHarmless = {"proc",   "sysfs",   "cgroup2", "devpts",
                                                       "mqueue", "debugfs", "tracefs", "securityfs"};

enum class Passes { kNo, kElsewhere, kYes };

class Judge {
 public:
  explicit Judge(const Question& question) : question_(question) { find_leaving(); }

  Verdict verdict() {
    if (question_.defer == Defer::kAlways) return {DeferReason::kDeferred, true, false};
    if (question_.defer == Defer::kNever) return {DeferReason::kNever, false, false};
    Verdict verdict;
    if (question_.target != 0 && propagates()) return {DeferReason::kPropagates, false, false};
    for (const MountEntry& entry : question_.inside.entries()) {
      const Passes passes = judge(entry);
      if (passes == Passes::kNo)
        return {leaves(entry) ? DeferReason::kFilesystemCounts : DeferReason::kNamespaceCounts, false, false};
      if (passes == Passes::kElsewhere) verdict.relies_on_elsewhere = true;
    }
    verdict.may_keep = !question_.own && (question_.defer != Defer::kAuto || !has_growing_tmpfs());
    return verdict;
  }

 private:
  // The target and everything below it, in the order of the table: a parent stands before its children or not, so until
  // nothing is added.
  void find_leaving() {
    if (question_.target == 0) return;
    leaving_.push_back(question_.target);
    for (std::size_t before = 0; before != leaving_.size();) {
      before = leaving_.size();
      for (const MountEntry& entry : question_.inside.entries())
        if (leaves(entry.parent_id) && !leaves(entry.id)) leaving_.push_back(entry.id);
    }
  }

  [[nodiscard]] bool leaves(int id) const { return std::ranges::find(leaving_, id) != leaving_.end(); }
  [[nodiscard]] bool leaves(const MountEntry& entry) const { return leaves(entry.id); }

  // Only the top's parent matters: below it everything goes anyway, and its copies go with the copies of the top.
  [[nodiscard]] bool propagates() const {
    const MountEntry* const top = question_.inside.by_id(question_.target);
    const MountEntry* const parent = top != nullptr ? question_.inside.by_id(top->parent_id) : nullptr;
    return parent == nullptr || parent->shared_group != 0;
  }

  [[nodiscard]] bool harmless(const MountEntry& entry) const {
    if (question_.init_root == entry.device) return true;
    if (entry.type == "nsfs") return !entry.root.starts_with("mnt:[");
    return std::ranges::find(kHarmless, entry.type) != kHarmless.end();
  }

  // A container lives for any length of time, and nothing says when its tmpfs grows: where nobody may notice anything,
  // a namespace with one that can grow is not kept.
  [[nodiscard]] bool has_growing_tmpfs() const {
    return std::ranges::any_of(question_.inside.entries(), [this](const MountEntry& entry) {
      return entry.type == "tmpfs" && !leaves(entry) && !entry.super_options.starts_with("ro") &&
             limit_of(entry.super_options) > kSmallTmpfs;
    });
  }

  // "...,size=65536k,...": the kernel prints tmpfs' limit in KiB; no limit prints nothing.
  static std::uint64_t limit_of(std::string_view options) {
    constexpr std::string_view kSize = "size=";
    std::uint64_t kibibytes = 0;
    const std::size_t at = options.find(kSize);
    if (at == std::string_view::npos) return ~std::uint64_t{0};
    const std::string_view digits = options.substr(at + kSize.size());
    std::from_chars(digits.data(), digits.data() + digits.size(), kibibytes);
    return kibibytes << 10;
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

  [[nodiscard]] bool is_elsewhere(const DeviceNumber& device) const {
    if (question_.own && question_.target != 0 && stays_inside(device)) return true;
    return std::ranges::any_of(question_.outside, [&](const MountTable& table) {
      return std::ranges::any_of(table.entries(), [&](const MountEntry& entry) { return entry.device == device; });
    });
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
    else if (question_.defer == Defer::kElsewhere && is_elsewhere(entry.device))
      passes = Passes::kElsewhere;
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
  std::vector<int> leaving_;
  std::vector<Judged> judged_;
};

}  // namespace

Verdict judge(const Question& question) {
  return Judge(question).verdict();
}

}  // namespace unmoor::exec
