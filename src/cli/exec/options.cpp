// SPDX-License-Identifier: MIT
#include "cli/exec/options.h"

#include <cstring>
#include <getopt.h>
#include <string_view>

namespace unmoor::cli::exec {

const char kHelp[] =
    "Usage: unmoor exec [OPTIONS] [--] PROGRAM [ARGUMENTS]\n"
    "\n"
    "Runs PROGRAM so that its lazy unmounts, and the end of the mount namespaces it makes, do not wait for an RCU\n"
    "grace period. The program is executed: process id, exit status, signals and descriptors are its own.\n"
    "\n"
    "      --defer=WHEN   when an unmount may return early: auto, elsewhere (default), always, never\n"
    "      --force        also where grace periods are expedited and nothing is to gain\n"
    "      --json         the report as one JSON object a line\n"
    "      --quiet        do not say that a program cannot be helped\n"
    "      --report=FILE  append each call taken over or left alone, and why, to FILE\n"
    "      --strict       refuse a program that cannot be helped\n"
    "  -h, --help         this text\n";

namespace {

std::expected<detach::Defer, std::string> parse_defer(std::string_view word) {
  if (word == "auto") return detach::Defer::kAuto;
  if (word == "elsewhere") return detach::Defer::kElsewhere;
  if (word == "always") return detach::Defer::kAlways;
  if (word == "never") return detach::Defer::kNever;
  return std::unexpected("--defer: '" + std::string(word) + "' is not one of auto, elsewhere, always, never");
}

enum Long : int { kDefer = 256, kForce, kJson, kQuiet, kReport, kStrict };

constexpr option kLongOptions[] = {
    {"defer", required_argument, nullptr, kDefer}, {"force", no_argument, nullptr, kForce},
    {"help", no_argument, nullptr, 'h'},           {"json", no_argument, nullptr, kJson},
    {"quiet", no_argument, nullptr, kQuiet},       {"report", required_argument, nullptr, kReport},
    {"strict", no_argument, nullptr, kStrict},     {nullptr, 0, nullptr, 0}};

}  // namespace

std::expected<Options, std::string> parse_options(int argc, char** argv) {
  Options options;
  opterr = 0;
  optind = 1;
  for (;;) {
    const int chosen = getopt_long(argc, argv, "+:h", kLongOptions, nullptr);  // '+': the first word is the program
    if (chosen == -1) break;
    switch (chosen) {
      case kDefer: {
        auto defer = parse_defer(optarg);
        if (!defer) return std::unexpected(defer.error());
        options.launch.defer = *defer;
        break;
      }
      case kForce:
        options.force = true;
        break;
      case kJson:
        options.launch.format = unmoor::exec::ReportFormat::kJson;
        break;
      case kQuiet:
        options.quiet = true;
        break;
      case kReport:
        options.launch.report = optarg;
        break;
      case kStrict:
        options.strict = true;
        break;
      case 'h':
        options.action = Action::kHelp;
        return options;
      case ':':
        return std::unexpected(std::string(argv[optind - 1]) + ": an argument is missing");
      default:
        return std::unexpected(std::string(argv[optind - 1]) + ": no such option");
    }
  }
  if (optind >= argc) return std::unexpected("no program given");
  options.program = argv + optind;
  return options;
}

}  // namespace unmoor::cli::exec
