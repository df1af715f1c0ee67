// SPDX-License-Identifier: MIT
// -a: every filesystem of the table, the latest first, that the lists let through.
#include <algorithm>
#include <array>
#include <cstdio>
#include <string>

#include "cli/umount/exit_code.h"
#include "cli/umount/interrupt.h"
#include "cli/umount/name_space.h"
#include "cli/umount/session.h"

namespace unmoor::cli::umount {
namespace {

using kernel::MountEntry;

// What umount(8) -a leaves alone unless -t says otherwise.
constexpr std::array<std::string_view, 7> kLeftAlone = {"proc",       "devfs", "devpts",   "sysfs",
                                                        "rpc_pipefs", "nfsd",  "selinuxfs"};

// The options of the mount and of its filesystem, as one list. Read-only if either is.
std::string all_options(const MountEntry& entry) {
  std::string options(entry.options);
  std::string_view rest = entry.super_options;
  const bool read_only = (options + ",").starts_with("ro,") || (std::string(rest) + ",").starts_with("ro,");
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    const std::string_view option = rest.substr(0, end);
    if (option != "rw" && option != "ro") (options += ',') += option;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (read_only && options.starts_with("rw")) options[1] = 'o';
  return options;
}

}  // namespace

int Session::unmount_all() {
  const bool lists = options_.types != nullptr || options_.test_options != nullptr;
  Libmount* const library = lists ? libmount(true) : nullptr;
  if (lists && library == nullptr) return libmount_refusal_;
  std::optional<kernel::MountTable> table;
  {
    const NameSpaceVisit visit(calls_, options_.name_space);
    table = read_table();
  }
  if (!table) return kExitSystem;
  const auto wanted = [&](const MountEntry& entry) {
    if (options_.types != nullptr) {
      if (!library->type_matches(std::string(entry.type), options_.types)) return false;
    } else if (std::ranges::find(kLeftAlone, entry.type) != kLeftAlone.end()) {
      return false;
    }
    return options_.test_options == nullptr || library->options_match(all_options(entry), options_.test_options);
  };
  Entries list;
  const auto entries = table->entries();
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    if (wanted(*entry)) list.push_back(&*entry);
  }
  if (options_.all_or_nothing) {
    if (const std::optional<int> refusal = refuse_unless_all_can_go(*table, list)) return *refusal;
  }
  if (options_.voice == Voice::kUnmoor) note_interrupts();
  const auto discipline =
      options_.voice == Voice::kUmount ? detach::Discipline::kInOrderGoOn : detach::Discipline::kFreely;
  LibmountResults by_libmount;
  const std::vector<detach::MountFate> fates = run_list(*table, list, discipline, by_libmount);

  int code = kExitSuccess;
  std::size_t went = 0;
  std::size_t stay = 0;
  std::size_t next = 0;
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    if (next == list.size() || list[next] != &*entry) {
      report_.ignored(*entry);
      continue;
    }
    const auto result = by_libmount.find(next);
    const bool gone = report_.one_of_all(*entry, fates[next], result != by_libmount.end() ? &result->second : nullptr);
    (gone ? went : stay)++;
    if (!gone) code = kExitFailed;
    ++next;
  }
  if (options_.voice == Voice::kUmount || stay == 0) return code;
  report_.summary(went, stay);
  return went == 0 ? kExitFailed : kExitSomeSucceeded;
}

}  // namespace unmoor::cli::umount
