// SPDX-License-Identifier: MIT
// The verbs of `unmoor`. Each takes the arguments from its own name on (argv[0] is the verb) and returns the exit code.
#pragma once

namespace unmoor::cli {

struct Verb {
  const char* name;
  int (*run)(int argc, char** argv);
  const char* summary;  // one line for `unmoor --help`
};

}  // namespace unmoor::cli
