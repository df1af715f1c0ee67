// SPDX-License-Identifier: MIT
// unmoor VERB [ARGS...]: finds the verb and runs it, or the program that has it.
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <unistd.h>

#include <climits>

#include "cli/exec/run.h"
#include "cli/umount/run.h"
#include "cli/verbs.h"

namespace unmoor::cli {
namespace {

struct Verb {
  const char* name;
  RunVerb run;
  const char* summary;
};

constexpr std::array kVerbs = {
    Verb{"exec", run_exec, "run a program whose lazy unmounts do not wait"},
    Verb{"umount", run_umount, "unmount filesystems: umount(8) that need not wait"},
};

void print_help(std::FILE* out) {
  std::fputs("Usage: unmoor VERB [ARGUMENTS]\n\nVerbs:\n", out);
  for (const Verb& verb : kVerbs)
    std::fprintf(out, "  %-8s %s\n", verb.name, verb.summary);
  for (const VerbName& verb : kHeavyVerbs)
    std::fprintf(out, "  %-8s %s\n", verb.name, verb.summary);
  std::fputs("\n`unmoor VERB --help` says more; each verb has a manual page, unmoor-VERB.\n", out);
}

// Executes `unmoor-verbs`, which lies beside this program in a build tree, and in libexec once installed. It gets this
// program's own path as argv[0]: `bench` measures it.
int run_heavy_verb(char** argv) {
  std::array<char, PATH_MAX> self{};
  if (readlink("/proc/self/exe", self.data(), self.size() - 1) < 0) {
    std::fprintf(stderr, "unmoor: cannot find itself: /proc/self/exe: %s\n", std::strerror(errno));
    return 1;
  }
  std::array<char, PATH_MAX> path{};
  const int directory = static_cast<int>(std::strrchr(self.data(), '/') - self.data());
  argv[0] = self.data();
  for (const char* const place : {"unmoor-verbs", UNMOOR_VERBS_FROM_BINDIR}) {
    (void)std::snprintf(path.data(), path.size(), "%.*s/%s", directory, self.data(), place);
    execv(path.data(), argv);
    if (errno != ENOENT) break;
  }
  std::fprintf(stderr, "unmoor: cannot run %s: %s\n", path.data(), std::strerror(errno));
  return 1;
}

int run(int argc, char** argv) {
  if (argc < 2) {
    print_help(stderr);
    return 1;
  }
  const char* const name = argv[1];
  if (std::strcmp(name, "--help") == 0 || std::strcmp(name, "-h") == 0) {
    print_help(stdout);
    return 0;
  }
  if (std::strcmp(name, "--version") == 0 || std::strcmp(name, "-V") == 0) {
    std::puts("unmoor " UNMOOR_VERSION);
    return 0;
  }
  for (const Verb& verb : kVerbs) {
    if (std::strcmp(name, verb.name) == 0) return verb.run(argc - 1, argv + 1);
  }
  for (const VerbName& verb : kHeavyVerbs) {
    if (std::strcmp(name, verb.name) == 0) return run_heavy_verb(argv);
  }
  std::fprintf(stderr, "unmoor: no verb '%s'\nHINT: `unmoor --help` lists the verbs.\n", name);
  return 1;
}

}  // namespace
}  // namespace unmoor::cli

int main(int argc, char** argv) {
  if (argc > 0) {
    const char* const slash = std::strrchr(argv[0], '/');
    const char* const name = slash != nullptr ? slash + 1 : argv[0];
    if (std::strcmp(name, "umount") == 0) return unmoor::cli::run_as_umount(argc, argv);
    if (std::strcmp(name, "unmoor-crun") == 0) return unmoor::cli::run_as_crun(argv);
  }
  return unmoor::cli::run(argc, argv);
}
