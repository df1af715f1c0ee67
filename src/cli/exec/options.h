// SPDX-License-Identifier: MIT
// The command line of `unmoor exec`.
#pragma once

#include <expected>
#include <string>

#include "exec/launch.h"

namespace unmoor::cli::exec {

enum class Action { kRun, kHelp };

struct Options {
  Action action = Action::kRun;
  unmoor::exec::LaunchSetting launch;
  bool force = false;        // also where grace periods are expedited
  bool strict = false;       // refuse what cannot be helped
  bool quiet = false;        // say nothing about a program that cannot be helped
  char** program = nullptr;  // its arguments, the null pointer included
};

// `argv[0]` is the verb. The error is the message for the user.
[[nodiscard]] std::expected<Options, std::string> parse_options(int argc, char** argv);

extern const char kHelp[];

}  // namespace unmoor::cli::exec
