// SPDX-License-Identifier: MIT
// One run of the umount verb: what it was asked for, what it says, and libmount once something needs it.
#pragma once

#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "cli/umount/libmount.h"
#include "cli/umount/options.h"
#include "cli/umount/report.h"
#include "cli/umount/run.h"
#include "cli/umount/special.h"
#include "detach/many/many.h"
#include "detach/many/subtree.h"
#include "kernel/mount_table.h"
#include "kernel/system_calls.h"

namespace unmoor::cli::umount {

class Session {
 public:
  Session(const kernel::SystemCalls& calls, const Options& options, HandOver other_program)
      : calls_(calls), options_(options), hand_over_(other_program), report_(options) {}

  // Does all of it and returns the exit code.
  [[nodiscard]] int run();

 private:
  using Entries = std::vector<const kernel::MountEntry*>;
  using LibmountResults = std::unordered_map<std::size_t, LibmountResult>;  // by position in a list: few, or none

  // one.cpp
  [[nodiscard]] int unmount_target(const char* target);
  [[nodiscard]] bool plain_call_suffices(const char* target);
  [[nodiscard]] int unmount_directly(const char* target);
  [[nodiscard]] int unmount_by_libmount(const char* target);

  // several.cpp: independent targets at the same time. Nothing: one after the other, please.
  [[nodiscard]] std::optional<int> unmount_together();

  // trees.cpp
  [[nodiscard]] int unmount_tree(const char* target);
  [[nodiscard]] int unmount_all_targets(const char* target);
  [[nodiscard]] const kernel::MountEntry* mounted_at(const kernel::MountTable& table, const char* target) const;
  [[nodiscard]] const kernel::MountEntry* mounted_from(const kernel::MountTable& table, const char* source);
  [[nodiscard]] int not_found(const char* target);

  // all.cpp
  [[nodiscard]] int unmount_all();

  // lists.cpp
  // `given`: how the user named each of them; empty: by its mount point.
  [[nodiscard]] int unmount_list(const kernel::MountTable& table, const Entries& list, detach::Discipline discipline,
                                 std::span<const char* const> given);
  [[nodiscard]] std::vector<detach::MountFate> run_list(const kernel::MountTable& table, const Entries& list,
                                                        detach::Discipline discipline, LibmountResults& by_libmount);
  [[nodiscard]] std::optional<int> refuse_unless_all_can_go(const kernel::MountTable& table, const Entries& list);

  // session.cpp
  [[nodiscard]] std::optional<kernel::MountTable> read_table() const;
  // To the program that has libmount, if this one has not. Only while nothing has been done yet: a run of a single
  // target is at that point whenever it needs libmount, every other run only at its beginning.
  void hand_over();
  // nullptr when there is none; says so when `needed`.
  [[nodiscard]] Libmount* libmount(bool needed);

  const kernel::SystemCalls& calls_;
  const Options& options_;
  HandOver hand_over_;  // nullptr: libmount can be loaded here, or the other program could not be executed
  Report report_;
  std::optional<Libmount> libmount_;
  bool libmount_missing_ = false;
  int libmount_refusal_ = 0;  // the exit code with which its preparation failed
};

}  // namespace unmoor::cli::umount
