// SPDX-License-Identifier: MIT
#include "cli/umount/run.h"

#include <algorithm>
#include <cstdio>

#include "cli/umount/exit_code.h"
#include "cli/umount/one.h"
#include "cli/umount/options.h"
#include "cli/umount/report.h"

namespace unmoor::cli {
namespace {

using namespace umount;

// umount(8)'s exit code for several targets is the sum of theirs, as far as it fits.
constexpr int kLargestExitCode = 255;

int run(Voice voice, int argc, char** argv) {
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
  if (options->action != Action::kTargets || options->name_space != nullptr || options->detach_loop || options->fake ||
      options->read_only) {
    std::fputs("umount: -a, -A, -d, --fake, -N, -r and -R are not supported\n", stderr);
    return kExitUsage;
  }
  const kernel::SystemCalls& calls = kernel::SystemCalls::real();
  Report report(*options);
  int code = kExitSuccess;
  for (const char* const target : options->targets)
    code = std::min(code + unmount_one(calls, *options, target, report), kLargestExitCode);
  report.finish();
  return code;
}

}  // namespace

int run_umount(int argc, char** argv) {
  return run(Voice::kUnmoor, argc, argv);
}

int run_as_umount(int argc, char** argv) {
  return run(Voice::kUmount, argc, argv);
}

}  // namespace unmoor::cli
