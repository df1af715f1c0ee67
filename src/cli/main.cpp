// SPDX-License-Identifier: MIT
// unmoor VERB [ARGS...]: finds the verb and runs it, or the program that has it.
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <unistd.h>
#include <utility>

#include <climits>

#include "cli/exec/run.h"
#include "cli/gained_ids.h"
#include "cli/umount/run.h"
#include "cli/verbs.h"

namespace unmoor::cli {
namespace {

char** command_line = nullptr;  // main's argv

// Executes another program of ours with the command line, its first word replaced. They lie beside this one in a build
// tree, and in libexec once installed. Returns only on failure, with errno and the path that was tried last.
std::array<char, PATH_MAX> execute(const char* program, char* self, char* first_word) {
  std::array<char, PATH_MAX> path{};
  char* const given = std::exchange(command_line[0], first_word);
  const int directory = static_cast<int>(std::strrchr(self, '/') - self);
  for (const char* const place : {".", UNMOOR_LIBEXEC_FROM_BINDIR}) {
    (void)std::snprintf(path.data(), path.size(), "%.*s/%s/%s", directory, self, place, program);
    execv(path.data(), command_line);
    if (errno != ENOENT) break;
  }
  command_line[0] = given;
  return path;
}

// The path of this program; empty, with errno, where /proc does not tell.
std::array<char, PATH_MAX> own_path() {
  std::array<char, PATH_MAX> self{};
  if (readlink("/proc/self/exe", self.data(), self.size() - 1) < 0) self[0] = '\0';
  return self;
}

void hand_umount_over() {
  std::array<char, PATH_MAX> self = own_path();
  if (self[0] != '\0') (void)execute("unmoor-umount", self.data(), command_line[0]);
}

int run_umount_verb(int argc, char** argv) {
  return run_umount(argc, argv, hand_umount_over);
}

struct Verb {
  const char* name;
  RunVerb run;
  const char* summary;
};

constexpr std::array kVerbs = {
    Verb{"exec", run_exec, "run a program whose lazy unmounts do not wait"},
    Verb{"umount", run_umount_verb, "unmount filesystems: umount(8) that need not wait"},
};

void print_help(std::FILE* out) {
  std::fputs("Usage: unmoor VERB [ARGUMENTS]\n\nVerbs:\n", out);
  for (const Verb& verb : kVerbs)
    std::fprintf(out, "  %-8s %s\n", verb.name, verb.summary);
  for (const VerbName& verb : kHeavyVerbs)
    std::fprintf(out, "  %-8s %s\n", verb.name, verb.summary);
  std::fputs("\n`unmoor VERB --help` says more; each verb has a manual page, unmoor-VERB.\n", out);
}

// It gets this program's own path as its first word: `bench` measures it.
int run_heavy_verb() {
  std::array<char, PATH_MAX> self = own_path();
  if (self[0] == '\0') {
    std::fprintf(stderr, "unmoor: cannot find itself: /proc/self/exe: %s\n", std::strerror(errno));
    return 1;
  }
  const std::array<char, PATH_MAX> path = execute("unmoor-verbs", self.data(), self.data());
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
    if (std::strcmp(name, verb.name) == 0) return run_heavy_verb();
  }
  std::fprintf(stderr, "unmoor: no verb '%s'\nHINT: `unmoor --help` lists the verbs.\n", name);
  return 1;
}

}  // namespace
}  // namespace unmoor::cli

int main(int argc, char** argv) {
  using namespace unmoor::cli;
  give_up_gained_ids();
  command_line = argv;
  if (argc > 0) {
    if (called_as(argv[0], "umount")) return run_as_umount(argc, argv, hand_umount_over);
    if (called_as(argv[0], "unmoor-crun")) return run_as_crun(argv);
  }
  return run(argc, argv);
}
