// SPDX-License-Identifier: MIT
#include "detach/many/many.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <numeric>
#include <sys/mount.h>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "detach/many/crew.h"
#include "detach/many/independence.h"
#include "detach/many/one_of_many.h"
#include "detach/many/schedule.h"
#include "detach/many/subtree.h"
#include "kernel/grace_period.h"

namespace unmoor::detach {
namespace {

using kernel::MountEntry;

// Concurrent grace periods are shared by the kernel, so with normal ones every call in flight is nearly free: 200
// tmpfs on two CPUs took 2.4 s one by one and 0.03 s at once. More threads than this cost more than they save.
constexpr unsigned kJobsUnderNormalGracePeriods = 256;
// With expedited ones a call takes microseconds, unless a filesystem has to write to its device. A long list still
// gains from some at once, which share those too (5,000 tmpfs on two CPUs: 166 ms one by one, 95 by 8, 85 by 16 and by
// 32), and does not fall to one normal grace period each when somebody turns the knob meanwhile.
constexpr unsigned kMostJobsUnderExpedited = 16;
// At 100 mounts one by one is 1.4 times as fast as 16 at once, at 1,000 it is the same.
constexpr std::size_t kLongList = 512;
constexpr std::chrono::milliseconds kProgressInterval{100};

bool has_device(const MountEntry& entry) {
  return entry.device.major != 0;
}

unsigned jobs_that_pay(const kernel::SystemCalls& calls, MountList list, unsigned asked) {
  if (list.size() < 2) return 1;
  if (asked != 0) return static_cast<unsigned>(std::min<std::size_t>(asked, list.size()));
  std::size_t pays = 1;
  if (kernel::grace_period(calls) != kernel::GracePeriod::kExpedited) {
    pays = kJobsUnderNormalGracePeriods;
  } else {
    std::unordered_set<std::uint64_t> devices;
    for (const MountEntry* const entry : list) {
      if (has_device(*entry)) devices.insert((std::uint64_t{entry->device.major} << 32) | entry->device.minor);
    }
    pays = list.size() >= kLongList ? kMostJobsUnderExpedited
                                    : std::clamp<std::size_t>(devices.size(), 1, kMostJobsUnderExpedited);
  }
  return static_cast<unsigned>(std::min(pays, list.size()));
}

// Whether `path` or a directory above it is one of them.
bool lies_below_any(const std::unordered_set<std::string_view>& mount_points, std::string_view path) {
  while (!mount_points.contains(path)) {
    const std::size_t slash = path.rfind('/');
    if (slash == std::string_view::npos || slash == 0) return false;
    path = path.substr(0, slash);
  }
  return true;
}

// One run over a list; the fates are kept by position in it.
class Run {
 public:
  Run(const kernel::SystemCalls& calls, const kernel::MountTable& table, MountList list, const ManyOptions& options)
      : list_(list),
        options_(options),
        tree_(table),
        tangles_(table, tree_),
        one_(calls, options.umount_flags, options.lazy),
        jobs_(jobs_that_pay(calls, list, options.jobs)),
        table_(table),
        index_(table.entries().size(), kNotListed),
        fates_(list.size()) {
    for (std::uint32_t i = 0; i < list.size(); ++i)
      index_[tree_.position(*list[i])] = i;
  }

  [[nodiscard]] std::vector<MountFate> go() {
    if ((options_.umount_flags & MNT_DETACH) != 0) {
      detach_tops();
    } else if (options_.discipline == Discipline::kInOrderStop) {
      in_order_until_failure();
    } else {
      const std::vector<std::uint32_t> order = children_first();
      together(order);
      once_more(order);
    }
    return std::move(fates_);
  }

 private:
  using Positions = std::vector<std::uint32_t>;
  static constexpr std::uint32_t kNotListed = ~0U;

  [[nodiscard]] std::uint32_t listed_at(const MountEntry& entry) const { return index_[tree_.position(entry)]; }

  [[nodiscard]] bool stopped() const {
    return options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed);
  }
  void tell_progress(std::size_t done) const {
    if (options_.progress) options_.progress(done);
  }

  [[nodiscard]] Positions all_positions() const {
    Positions all(list_.size());
    std::iota(all.begin(), all.end(), 0U);
    return all;
  }

  // The list's order, unless the discipline leaves it to us and a parent comes before its child.
  [[nodiscard]] Positions children_first() const {
    Positions order = all_positions();
    if (options_.discipline != Discipline::kFreely) return order;
    std::unordered_map<int, std::uint32_t> depth;
    for (const MountEntry* const entry : list_) {
      std::vector<const MountEntry*> above;
      for (const MountEntry* up = entry; up != nullptr && !depth.contains(up->id); up = tree_.parent(*up))
        above.push_back(up);
      for (auto up = above.rbegin(); up != above.rend(); ++up) {
        const MountEntry* const parent = tree_.parent(**up);
        depth[(*up)->id] = parent == nullptr ? 0 : depth[parent->id] + 1;
      }
    }
    const auto misplaced = [&](const MountEntry* entry) {
      const MountEntry* const parent = tree_.parent(*entry);
      const std::uint32_t above = parent == nullptr ? kNotListed : listed_at(*parent);
      return above != kNotListed && above < listed_at(*entry);
    };
    if (std::ranges::any_of(list_, misplaced)) {
      std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) {
        const std::uint32_t deep_a = depth.at(list_[a]->id);
        const std::uint32_t deep_b = depth.at(list_[b]->id);
        return deep_a != deep_b ? deep_a > deep_b : a < b;
      });
    }
    return order;
  }

  // A child that stays makes its parent busy: no call is needed to know.
  [[nodiscard]] const MountEntry* blocker(std::uint32_t position) const {
    if (options_.discipline != Discipline::kFreely) return nullptr;
    for (const MountEntry* const child : tree_.children(*list_[position])) {
      const std::uint32_t at = listed_at(*child);
      if (at != kNotListed && fates_[at].fate == Fate::kFailed) return child;
    }
    return nullptr;
  }

  void attempt(std::uint32_t position, const kernel::MountTable* as_read = nullptr) {
    if (const MountEntry* const child = blocker(position)) {
      fates_[position] = {.fate = Fate::kFailed, .error = EBUSY, .blocked_by = child};
      return;
    }
    fates_[position] = one_.unmount(*list_[position], as_read);
  }

  // Attempts all of `order`, as many at once as pay and are independent.
  void together(const Positions& order) {
    std::vector<const MountEntry*> part;
    part.reserve(order.size());
    for (const std::uint32_t position : order)
      part.push_back(list_[position]);
    Schedule schedule(waits_of(part, tree_, tangles_), options_.stop);
    const auto work = [&] {
      while (const std::optional<std::uint32_t> next = schedule.take()) {
        attempt(order[*next]);
        schedule.done(*next);
      }
    };
    const auto width = static_cast<unsigned>(std::min<std::size_t>(jobs_, order.size()));
    const Crew crew(width > 1 ? width : 0, work);
    if (crew.size() == 0) {
      one_by_one(schedule, order);
      return;
    }
    while (!schedule.wait_until_over(std::chrono::steady_clock::now() + kProgressInterval))
      tell_progress(finished_before_ + schedule.done_count());
  }

  void one_by_one(Schedule& schedule, const Positions& order) {
    auto next_report = std::chrono::steady_clock::now() + kProgressInterval;
    while (const std::optional<std::uint32_t> next = schedule.take()) {
      attempt(order[*next]);
      schedule.done(*next);
      if (const auto now = std::chrono::steady_clock::now(); now >= next_report) {
        tell_progress(finished_before_ + schedule.done_count());
        next_report = now + kProgressInterval;
      }
    }
  }

  // What was busy may have been so only because of another unmount in flight, or of a child that has gone since. In the
  // list's order a parent that came before its child stays, as it would have one by one.
  void once_more(const Positions& order) {
    if (jobs_ == 1 && options_.discipline != Discipline::kFreely) return;
    for (const std::uint32_t position : order) {
      const MountFate& fate = fates_[position];
      if (stopped() || fate.fate != Fate::kFailed || fate.error != EBUSY || fate.covered) continue;
      if (options_.discipline == Discipline::kFreely || !has_later_child(position)) attempt(position);
    }
  }

  [[nodiscard]] bool has_later_child(std::uint32_t position) const {
    return std::ranges::any_of(tree_.children(*list_[position]), [&](const MountEntry* child) {
      const std::uint32_t at = listed_at(*child);
      return at != kNotListed && at > position;
    });
  }

  // The list up to its first failure. What may run at the same time is first tested without unmounting it, so that
  // nothing behind a mount that is in use is touched.
  void in_order_until_failure() {
    std::uint32_t next = 0;
    while (next < list_.size() && !stopped()) {
      const bool lazy = (options_.umount_flags & MNT_DETACH) != 0;
      const Positions window = jobs_ > 1 && !lazy ? idle_independent_from(next) : Positions{};
      if (window.size() < 2) {
        attempt(next);
        if (fates_[next++].fate == Fate::kFailed) return;
        tell_progress(next);
        continue;
      }
      finished_before_ = next;
      together(window);
      for (const std::uint32_t position : window) {
        if (fates_[position].fate == Fate::kFailed && fates_[position].error == EBUSY) attempt(position);
      }
      next += static_cast<std::uint32_t>(window.size());
      if (std::ranges::any_of(window, [&](std::uint32_t i) { return fates_[i].fate == Fate::kFailed; })) return;
    }
  }

  // The longest run of positions from `first` on that are independent of each other and not in use.
  [[nodiscard]] Positions idle_independent_from(std::uint32_t first) const {
    Positions window;
    std::unordered_set<int> above;  // ids of the parents of those in the window
    for (std::uint32_t i = first; i < list_.size(); ++i) {
      if (tangles_.tangled(*list_[i]) || above.contains(list_[i]->id)) break;
      if (one_.test(*list_[i]).fate != Fate::kUntried) break;
      window.push_back(i);
      above.insert(list_[i]->parent_id);
    }
    return window;
  }

  // One detach of each mount whose parent is not in the list. Where the kernel refuses one, its children are next.
  void detach_tops() {
    // Which of them went along with which is known only one by one.
    const auto tangled = [&](const MountEntry* entry) { return tangles_.tangled(*entry); };
    if (options_.discipline == Discipline::kInOrderStop && std::ranges::any_of(list_, tangled)) {
      in_order_until_failure();
      return;
    }
    Positions tops;
    for (std::uint32_t i = 0; i < list_.size(); ++i) {
      if (!has_ancestor_in_list(*list_[i])) tops.push_back(i);
    }
    // The first one of all finds the table as it was read.
    const kernel::MountTable* as_read = &table_;
    while (!tops.empty() && !stopped()) {
      if (options_.discipline == Discipline::kInOrderStop) {
        attempt(tops.front(), std::exchange(as_read, nullptr));
        if (fates_[tops.front()].fate == Fate::kFailed) return;
        settle_below(tops.front());
        tops.erase(tops.begin());
        continue;
      }
      if (tops.size() == 1) {
        attempt(tops.front(), std::exchange(as_read, nullptr));
      } else {
        as_read = nullptr;
        together(tops);
      }
      Positions refused;
      for (const std::uint32_t top : tops) {
        if (fates_[top].fate != Fate::kFailed) {
          settle_below(top);
          continue;
        }
        for (const std::uint32_t child : nearest_below(top))
          refused.push_back(child);
      }
      tops = std::move(refused);
    }
  }

  [[nodiscard]] bool has_ancestor_in_list(const MountEntry& entry) const {
    for (const MountEntry* up = tree_.parent(entry); up != nullptr; up = tree_.parent(*up)) {
      if (listed_at(*up) != kNotListed) return true;
    }
    return false;
  }

  // Whatever of the list lies below a mount shares its fate.
  void settle_below(std::uint32_t top) {
    std::vector<const MountEntry*> open{list_[top]};
    while (!open.empty()) {
      const MountEntry* const entry = open.back();
      open.pop_back();
      for (const MountEntry* const child : tree_.children(*entry)) {
        if (const std::uint32_t at = listed_at(*child); at != kNotListed) fates_[at] = fates_[top];
        open.push_back(child);
      }
    }
  }

  [[nodiscard]] Positions nearest_below(std::uint32_t top) const {
    Positions nearest;
    std::vector<const MountEntry*> open{list_[top]};
    while (!open.empty()) {
      const MountEntry* const entry = open.back();
      open.pop_back();
      for (const MountEntry* const child : tree_.children(*entry)) {
        if (const std::uint32_t at = listed_at(*child); at != kNotListed) {
          nearest.push_back(at);
        } else {
          open.push_back(child);
        }
      }
    }
    return nearest;
  }

  MountList list_;
  const ManyOptions& options_;
  MountTree tree_;
  Tangles tangles_;
  OneOfMany one_;
  unsigned jobs_;
  const kernel::MountTable& table_;
  std::vector<std::uint32_t> index_;  // where in the list, by the line of the table
  std::size_t finished_before_ = 0;
  // Each position is written by whoever has taken it from the schedule, and read after that one reported it done.
  std::vector<MountFate> fates_;
};

}  // namespace

std::vector<MountFate> unmount_many(const kernel::SystemCalls& calls, const kernel::MountTable& table, MountList list,
                                    const ManyOptions& options) {
  return Run(calls, table, list, options).go();
}

std::vector<MountFate> check_many(const kernel::SystemCalls& calls, const kernel::MountTable& table, MountList list) {
  const MountTree tree(table);
  const OneOfMany one(calls, 0, {});
  std::vector<MountFate> fates;
  fates.reserve(list.size());
  std::unordered_set<std::string_view> earlier;
  for (const MountEntry* const entry : list) {
    MountFate fate = one.test(*entry);
    // The test counts children as use. What covers it may be of the list, and go first.
    const bool has_children = !tree.children(*entry).empty();
    if (fate.covered ? lies_below_any(earlier, entry->mount_point)
                     : fate.fate == Fate::kFailed && fate.error == EBUSY && has_children) {
      fate = {};
    }
    fates.push_back(fate);
    earlier.insert(entry->mount_point);
  }
  return fates;
}

}  // namespace unmoor::detach
