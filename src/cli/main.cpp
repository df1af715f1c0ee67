// SPDX-License-Identifier: MIT
// unmoor VERB [ARGS...]: finds the verb and runs it.
#include <array>
#include <cstdio>
#include <cstring>

#include "cli/doctor/run.h"
#include "cli/umount/run.h"
#include "cli/verbs.h"

namespace unmoor::cli {
namespace {

constexpr std::array kVerbs = {
    Verb{"doctor", run_doctor, "why unmounting is slow or dangerous here"},
    Verb{"umount", run_umount, "unmount filesystems: umount(8) that need not wait"},
};

void print_help(std::FILE* out) {
  std::fputs("Usage: unmoor VERB [ARGUMENTS]\n\nVerbs:\n", out);
  for (const Verb& verb : kVerbs)
    std::fprintf(out, "  %-8s %s\n", verb.name, verb.summary);
  std::fputs("\n`unmoor VERB --help` says more; each verb has a manual page, unmoor-VERB.\n", out);
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
  std::fprintf(stderr, "unmoor: no verb '%s'\nHINT: `unmoor --help` lists the verbs.\n", name);
  return 1;
}

}  // namespace
}  // namespace unmoor::cli

int main(int argc, char** argv) {
  if (argc > 0) {
    const char* const slash = std::strrchr(argv[0], '/');
    if (std::strcmp(slash != nullptr ? slash + 1 : argv[0], "umount") == 0)
      return unmoor::cli::run_as_umount(argc, argv);
  }
  return unmoor::cli::run(argc, argv);
}
