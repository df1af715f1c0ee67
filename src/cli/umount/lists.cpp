// SPDX-License-Identifier: MIT
// A list of mounts: runs of plain ones by detach::unmount_many, the others one by one by libmount.
#include <algorithm>
#include <cerrno>
#include <string>

#include "cli/umount/exit_code.h"
#include "cli/umount/interrupt.h"
#include "cli/umount/known_types.h"
#include "cli/umount/name_space.h"
#include "cli/umount/progress.h"
#include "cli/umount/session.h"

namespace unmoor::cli::umount {
namespace {

using detach::Discipline;
using detach::Fate;
using detach::MountFate;

bool failed(const MountFate& fate) {
  return fate.fate == Fate::kFailed;
}

}  // namespace

std::vector<MountFate> Session::run_list(const kernel::MountTable& table, const Entries& list, Discipline discipline,
                                         LibmountResults& by_libmount) {
  std::vector<MountFate> fates(list.size());
  if (options_.fake) {
    std::ranges::fill(fates, MountFate{.fate = Fate::kUnmounted});
    return fates;
  }
  Specials specials(calls_, options_);
  std::vector<bool> special(list.size());
  for (std::size_t i = 0; i < list.size(); ++i)
    special[i] = specials.needs_libmount(*list[i]) && libmount(false) != nullptr;
  Progress progress(options_, list.size());
  detach::ManyOptions how{.umount_flags = options_.umount_flags(),
                          .discipline = discipline,
                          .jobs = options_.jobs,
                          .lazy = {.defer = options_.defer, .caller = detach::Caller::kProgram},
                          .stop = interrupt_flag(),
                          .progress = {}};
  for (std::size_t begin = 0; begin < list.size() && !interrupted();) {
    std::size_t end = begin + 1;
    while (!special[begin] && end < list.size() && !special[end])
      ++end;
    if (special[begin]) {
      const std::string path(list[begin]->mount_point);
      const std::string source(list[begin]->source);
      const bool tell = options_.read_only && options_.action == Action::kAll;  // as umount(8): not with -R
      by_libmount[begin] = libmount_->unmount(calls_, options_, path.c_str(), tell ? source.c_str() : nullptr);
      fates[begin].fate = by_libmount[begin].exit_code == 0 ? Fate::kUnmounted : Fate::kFailed;
    } else {
      const NameSpaceVisit visit(calls_, options_.name_space);
      how.progress = [&](std::size_t done) { progress.tell(begin + done); };
      const detach::MountList part(list.data() + begin, end - begin);
      std::ranges::copy(detach::unmount_many(calls_, table, part, how),
                        fates.begin() + static_cast<std::ptrdiff_t>(begin));
    }
    const auto first = fates.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last = fates.begin() + static_cast<std::ptrdiff_t>(end);
    if (discipline == Discipline::kInOrderStop && std::any_of(first, last, failed)) break;
    begin = end;
  }
  return fates;
}

std::optional<int> Session::refuse_unless_all_can_go(const kernel::MountTable& table, const Entries& list) {
  const NameSpaceVisit visit(calls_, options_.name_space);
  const std::vector<MountFate> fates = detach::check_many(calls_, table, list);
  std::size_t stay = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!failed(fates[i])) continue;
    report_.would_stay(*list[i], fates[i]);
    ++stay;
  }
  if (stay == 0) {
    report_.may_begin();
    return std::nullopt;
  }
  report_.nothing_begun(stay, list.size());
  return kExitFailed;
}

int Session::unmount_list(const kernel::MountTable& table, const Entries& list, Discipline discipline,
                          std::span<const char* const> given) {
  if (options_.all_or_nothing) {
    if (const std::optional<int> refusal = refuse_unless_all_can_go(table, list)) return *refusal;
  }
  if (options_.voice == Voice::kUnmoor && list.size() > 1) note_interrupts();
  // Asked before the mounts go: what is said depends on what is there.
  const auto name = [&](std::size_t i) { return given.empty() ? list[i]->mount_point : std::string_view(given[i]); };
  std::vector<bool> as_given(list.size());
  for (std::size_t i = 0; options_.verbose && i < list.size(); ++i) {
    as_given[i] = said_as_given(calls_, options_, i == 0 ? Lookup::kFirst : Lookup::kLater,
                                std::string(name(i)).c_str(), list[i]->type);
  }
  LibmountResults by_libmount;
  const std::vector<MountFate> fates = run_list(table, list, discipline, by_libmount);

  // Of targets that the user named the exit codes add up, as umount(8)'s do.
  int code = kExitSuccess;
  const auto add = [&](int one) { code = given.empty() ? std::max(code, one) : std::min(code + one, 255); };
  std::size_t went = 0;
  std::size_t stay = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (const auto result = by_libmount.find(i); result != by_libmount.end()) {
      report_.by_libmount(name(i), result->second);
      add(result->second.exit_code);
    } else if (options_.voice == Voice::kUmount && !given.empty() && fates[i].fate == Fate::kWentAlong) {
      // A target before it took it along, by propagation: umount(8) finds nothing there, which the kernel tells it.
      report_.line({.entry = list[i], .given = name(i), .as_given = true}, {.fate = Fate::kFailed, .error = EINVAL});
      add(kExitFailed);
    } else {
      report_.line({.entry = list[i], .given = name(i), .as_given = as_given[i]}, fates[i]);
      if (failed(fates[i])) add(kExitFailed);
    }
    (failed(fates[i]) || fates[i].fate == Fate::kUntried ? stay : went)++;
  }
  if (options_.voice == Voice::kUmount || stay == 0) return code;
  report_.summary(went, stay);
  return went == 0 ? std::max(code, kExitFailed) : kExitSomeSucceeded;
}

}  // namespace unmoor::cli::umount
