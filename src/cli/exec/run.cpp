// SPDX-License-Identifier: MIT
#include "cli/exec/run.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "cli/exec/options.h"
#include "exec/environment.h"
#include "exec/launch.h"
#include "exec/program.h"
#include "kernel/grace_period.h"
#include "kernel/system_calls.h"

extern "C" char** environ;

namespace unmoor::cli {
namespace {

using exec::Options;
using kernel::SystemCalls;
using unmoor::exec::Environment;
using unmoor::exec::ProgramKind;

// The loader that the shim is for: glibc's for this machine. Unmoor itself is static and has none.
#if defined(__aarch64__)
constexpr const char* kLoader = "/lib/ld-linux-aarch64.so.1";
#else
constexpr const char* kLoader = "/lib64/ld-linux-x86-64.so.2";
#endif

constexpr int kWrongUse = 125;  // as env(1), nice(1) and timeout(1) do
constexpr int kNotExecutable = 126;
constexpr int kNotFound = 127;

void say(const std::string& text) {
  std::fprintf(stderr, "unmoor exec: %s\n", text.c_str());
}

// Beside the program when it has not been installed, else where it was installed to.
std::string find_library() {
  char self[4096];
  const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  if (length > 0) {
    self[length] = '\0';
    const std::string directory(self, static_cast<std::size_t>(std::strrchr(self, '/') - self));
    for (const char* place : {"/libunmoor-exec.so", "/../" UNMOOR_LIBRARY_DIRECTORY "/unmoor/libunmoor-exec.so"})
      if (access((directory + place).c_str(), R_OK) == 0) return directory + place;
  }
  return UNMOOR_LIBRARY_PREFIX "/" UNMOOR_LIBRARY_DIRECTORY "/unmoor/libunmoor-exec.so";
}

const char* why_not(ProgramKind kind) {
  switch (kind) {
    case ProgramKind::kStatic:
      return "is statically linked and cannot be helped yet";
    case ProgramKind::kForeign:
      return "is for another machine or C library and cannot be helped";
    case ProgramKind::kPrivileged:
      return "gains privileges when it starts and cannot be helped";
    default:
      return "cannot be read, so it is not known whether it can be helped";
  }
}

// Starts the broker and prepares the environment; why not, otherwise.
Result<void> prepare(const SystemCalls& calls, const Options& options, Environment& environment) {
  const std::string library = find_library();
  struct ::stat facts{};
  if (::stat(library.c_str(), &facts) != 0) return fail(errno, "the shim is not installed", library);
  unmoor::exec::Token token;
  token.device = facts.st_dev;
  token.inode = facts.st_ino;
  auto started = unmoor::exec::start_broker(calls, token, options.launch);
  if (!started) return std::unexpected(started.error());
  if (!environment.set(*started, library.c_str())) return fail(EINVAL, "its path cannot be preloaded", library);
  return {};
}

// The raw system call: when unmoor itself runs under `unmoor exec`, libc's execve belongs to the outer shim.
int execute(const char* path, char** arguments, char** environment) {
  const long result = SystemCalls::real().call(SYS_execve, SystemCalls::pointer(path), SystemCalls::pointer(arguments),
                                               SystemCalls::pointer(environment));
  errno = static_cast<int>(-result);
  if (errno == ENOEXEC) {
    // A script without "#!", as execvp(3) treats it.
    std::vector<char*> script{const_cast<char*>("/bin/sh"), const_cast<char*>(path)};  // NOLINT: execve's types
    for (char** argument = arguments + 1; *arguments != nullptr && *argument != nullptr; ++argument)
      script.push_back(*argument);
    script.push_back(nullptr);
    static_cast<void>(SystemCalls::real().call(SYS_execve, SystemCalls::pointer("/bin/sh"),
                                               SystemCalls::pointer(script.data()), SystemCalls::pointer(environment)));
  }
  say(std::string(path) + ": " + std::strerror(errno));
  return errno == ENOENT ? kNotFound : kNotExecutable;
}

int run(const Options& options) {
  const SystemCalls& calls = SystemCalls::real();
  char found[4096];
  const char* const path = unmoor::exec::find_program(options.program[0], std::getenv("PATH"), found, sizeof found);
  if (path == nullptr) {
    say(std::string(options.program[0]) + ": " + std::strerror(ENOENT));
    return kNotFound;
  }
  if (options.launch.defer == detach::Defer::kNever) return execute(path, options.program, environ);
  // The report is wanted even where nothing is deferred: it says why.
  if (!options.force && kernel::grace_period(calls) == kernel::GracePeriod::kExpedited)
    return execute(path, options.program, environ);

  const ProgramKind kind = unmoor::exec::examine_program(AT_FDCWD, path, kLoader);
  if (kind != ProgramKind::kLoads && (kind != ProgramKind::kUnreadable || access(path, X_OK) == 0)) {
    if (options.strict) {
      say(std::string(path) + " " + why_not(kind));
      return kWrongUse;
    }
    if (!options.quiet) say(std::string(path) + " " + why_not(kind) + "; it runs as it is");
    return execute(path, options.program, environ);
  }
  static Environment environment;
  if (auto prepared = prepare(calls, options, environment); !prepared) {
    const Error& error = prepared.error();
    const std::string what =
        std::string(error.doing) + (error.object.empty() ? "" : " " + error.object) + ": " + std::strerror(error.code);
    if (options.strict) {
      say(what);
      return kWrongUse;
    }
    if (!options.quiet) say(what + "; the program runs as it is");
    return execute(path, options.program, environ);
  }
  const Environment::Room room = environment.room_with(environ);
  std::vector<char*> pointers(room.pointers);
  std::string text(room.text, '\0');
  environment.with(environ, pointers.data(), text.data());
  return execute(path, options.program, pointers.data());
}

}  // namespace

int run_exec(int argc, char** argv) {
  const auto options = exec::parse_options(argc, argv);
  if (!options) {
    say(options.error());
    std::fputs("HINT: `unmoor exec --help` shows the options.\n", stderr);
    return kWrongUse;
  }
  if (options->action == exec::Action::kHelp) {
    std::fputs(exec::kHelp, stdout);
    return 0;
  }
  return run(*options);
}

int run_as_crun(char** argv) {
  Options options;
  options.quiet = true;                 // podman and conmon read what a runtime writes
  argv[0] = const_cast<char*>("crun");  // NOLINT: main's types
  options.program = argv;
  return run(options);
}

}  // namespace unmoor::cli
