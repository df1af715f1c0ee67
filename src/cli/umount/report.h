// SPDX-License-Identifier: MIT
// What is said: umount(8)'s lines, or ours, or one JSON object for the whole command.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/umount/libmount.h"
#include "cli/umount/options.h"
#include "detach/detach.h"
#include "detach/many/many.h"

namespace unmoor::cli::umount {

class Report {
 public:
  explicit Report(const Options& options) : options_(options) {}

  // One target. `given` is what the user wrote; `source` may be empty: not known or not said.
  void unmounted(std::string_view given, std::string_view mount_point, std::string_view source,
                 const detach::Outcome& outcome);
  void failed(std::string_view given, std::string_view mount_point, int error);
  void by_libmount(std::string_view given, const LibmountResult& result);
  // No such mount for -R or -A; `there`: but something of that name.
  void no_such_mount(std::string_view target, bool there);

  // One mount of a list.
  struct Line {
    const kernel::MountEntry* entry;
    std::string_view given;
    bool as_given;  // say it as it was given, and no source
  };
  void line(const Line& line, const detach::MountFate& fate);
  // One mount of -a. False: it stays.
  bool one_of_all(const kernel::MountEntry& entry, const detach::MountFate& fate, const LibmountResult* by_libmount);
  void ignored(const kernel::MountEntry& entry);
  void summary(std::size_t went, std::size_t stay);

  // --all-or-nothing
  void would_stay(const kernel::MountEntry& entry, const detach::MountFate& fate);
  void nothing_begun(std::size_t stay, std::size_t total);
  void may_begin();

  // More members for the end of the object.
  void explain(const std::string& members) { json_end_ += ",\n  " + members; }

  // Mounts that could not be unmounted because something holds them.
  [[nodiscard]] const std::vector<std::string>& busy() const { return busy_; }

  // Prints what is printed at the end.
  void finish();

 private:
  void begin_item(std::string_view given, std::string_view mount_point);
  void add_fate(const detach::MountFate& fate);
  void complain(std::string_view mount_point, const std::string& why);
  [[nodiscard]] std::string why(const detach::MountFate& fate) const;

  const Options& options_;
  std::string json_;
  std::string json_end_;
  std::vector<std::string> busy_;
};

}  // namespace unmoor::cli::umount
