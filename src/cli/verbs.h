// SPDX-License-Identifier: MIT
// The verbs of `unmoor`, and in which of its programs each one lives.
//
// `unmoor umount` has to start like a C program: a verb whose libraries have static initialisers or thousands of
// relocations would be paid for at every unmount (measured: CLI11, fmt and nlohmann-json linked in, and not even
// called, make an empty run 1.4 times as slow). So the light verbs live in `unmoor`, and all others in `unmoor-verbs`,
// which `unmoor` executes. `unmoor` is linked statically, since resolving libc's symbols costs as much as all that
// /bin/true does; a static program cannot load libmount, so an umount that may need it goes on in `unmoor-umount`.
#pragma once

#include <array>
#include <cstring>

namespace unmoor::cli {

// Each takes the arguments from its own name on (argv[0] is the verb) and returns the exit code.
using RunVerb = int (*)(int argc, char** argv);

// The path of `unmoor`, for a heavy verb that runs it. Set before any verb runs; only in `unmoor-verbs`.
inline const char* unmoor_program = nullptr;

// Whether the first word of a command line is this name, with or without a directory.
inline bool called_as(const char* first_word, const char* name) {
  const char* const slash = std::strrchr(first_word, '/');
  return std::strcmp(slash != nullptr ? slash + 1 : first_word, name) == 0;
}

struct VerbName {
  const char* name;
  const char* summary;  // one line for `unmoor --help`
};

// The verbs of `unmoor-verbs`, sorted; verbs_main.cpp has their functions in the same order.
inline constexpr std::array kHeavyVerbs = {
    VerbName{"bench", "measure unmounting, side by side"},
    VerbName{"doctor", "why unmounting is slow or dangerous here"},
    VerbName{"tree", "run a script of mount operations, in the tree or on the kernel"},
    VerbName{"wait", "wait until a filesystem is gone and its device free"},
    VerbName{"who", "show who holds a mount, a filesystem or a device"},
};

}  // namespace unmoor::cli
