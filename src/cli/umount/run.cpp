// SPDX-License-Identifier: MIT
#include "cli/umount/run.h"

#include "cli/umount/exit_code.h"
#include "cli/umount/options.h"
#include "cli/umount/session.h"

namespace unmoor::cli {
namespace {

using namespace umount;

int run(Voice voice, int argc, char** argv, HandOver hand_over) {
  const std::expected<Options, int> options = parse_options(voice, argc, argv);
  if (!options) return options.error();
  if (options->action == Action::kHelp) {
    print_help(voice);
    return kExitSuccess;
  }
  if (options->action == Action::kVersion) {
    print_version(voice);
    return kExitSuccess;
  }
  return Session(kernel::SystemCalls::real(), *options, hand_over).run();
}

}  // namespace

int run_umount(int argc, char** argv, HandOver hand_over) {
  return run(Voice::kUnmoor, argc, argv, hand_over);
}

int run_as_umount(int argc, char** argv, HandOver hand_over) {
  return run(Voice::kUmount, argc, argv, hand_over);
}

}  // namespace unmoor::cli
