// SPDX-License-Identifier: MIT
// Can a program load the shim? Asked before each execve: a program that cannot must not see LD_PRELOAD, because the
// dynamic loader would complain on its standard error, and a static program would show the variable to the world.
//
// Uses only the system calls that every dynamic loader makes itself (openat, read, fstat, close), so that a seccomp
// filter which lets a program start lets this question pass too. Allocates nothing: it runs in vfork children.
#pragma once

#include <cstddef>

namespace unmoor::exec {

enum class ProgramKind {
  kLoads,       // dynamic, same machine and loader as ours, no privilege gained by executing it
  kStatic,      // no loader: nothing can be preloaded
  kForeign,     // another machine, word size or loader
  kPrivileged,  // setuid, setgid or file capabilities: the loader ignores the preload
  kUnreadable   // not there, not readable, or not a program: nothing is known
};

// The loader named by this process's own program header; nullptr when it has none.
[[nodiscard]] const char* own_interpreter();

// `path` relative to `directory`; an empty path means the descriptor itself (fexecve). A script is what its interpreter
// is.
[[nodiscard]] ProgramKind examine_program(int directory, const char* path, const char* interpreter);

// Finds `file` in `search_path` (nullptr: the C library's default) as execvp(3) does: the first candidate that is an
// executable file. Writes the path to `out` and returns it; nullptr when there is none.
[[nodiscard]] const char* find_program(const char* file, const char* search_path, char* out, std::size_t size);

}  // namespace unmoor::exec
