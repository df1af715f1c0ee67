// SPDX-License-Identifier: MIT
// One whole command, timed: from the call that starts the process to its end (start, exec, run, exit, wait).
#pragma once

#include <string>
#include <vector>

#include "kernel/error.h"

namespace unmoor::measure {

using Arguments = std::vector<std::string>;

// Runs `arguments` (arguments[0] is a path, or searched in PATH) with no input and its output kept back; returns the
// seconds. EIO, with the command's words on stderr, when it does not exit with 0; else the error of posix_spawn(3).
// A signal caught by interrupt.h ends the command too.
[[nodiscard]] Result<double> time_command(const Arguments& arguments);

// What it prints, standard output and error together, whatever it exits with. Errors: that of posix_spawn(3).
[[nodiscard]] Result<std::string> output_of(const Arguments& arguments);

// The same as time_command without the time.
[[nodiscard]] Result<void> run_command(const Arguments& arguments);

}  // namespace unmoor::measure
