// SPDX-License-Identifier: MIT
// What is said about each target: umount(8)'s lines, or one JSON object for the whole command.
#pragma once

#include <string>
#include <string_view>

#include "cli/umount/options.h"
#include "detach/detach.h"

namespace unmoor::cli::umount {

class Report {
 public:
  explicit Report(const Options& options) : options_(options) {}

  // `given` is the target as the user wrote it; `source` may be empty: not known or not said.
  void unmounted(std::string_view given, std::string_view mount_point, std::string_view source,
                 const detach::Outcome& outcome);
  void failed(std::string_view given, std::string_view mount_point, int error);
  // Prints what is printed at the end.
  void finish();

 private:
  void begin_item(std::string_view given, std::string_view mount_point);

  const Options& options_;
  std::string json_;
};

}  // namespace unmoor::cli::umount
