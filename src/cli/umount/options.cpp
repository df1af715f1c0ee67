// SPDX-License-Identifier: MIT
#include "cli/umount/options.h"

#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <getopt.h>
#include <sys/mount.h>

#include "cli/umount/exit_code.h"

namespace unmoor::cli::umount {
namespace {

enum LongOnly : int { kFake = 256, kDefer, kJson, kJobs, kAllOrNothing, kStrict, kWait };

constexpr const char* kShortOptions = "aAcdfhilnqRrN:O:t:vV";

// umount(8)'s, then ours. Called as `umount` the list ends before ours, so that abbreviations stay its own.
constexpr int kOwnOptions = 6;
constexpr std::array<option, 26> kLongOptions = {{
    {"all", no_argument, nullptr, 'a'},
    {"all-targets", no_argument, nullptr, 'A'},
    {"detach-loop", no_argument, nullptr, 'd'},
    {"fake", no_argument, nullptr, kFake},
    {"force", no_argument, nullptr, 'f'},
    {"help", no_argument, nullptr, 'h'},
    {"internal-only", no_argument, nullptr, 'i'},
    {"lazy", no_argument, nullptr, 'l'},
    {"namespace", required_argument, nullptr, 'N'},
    {"no-canonicalize", no_argument, nullptr, 'c'},
    {"no-mtab", no_argument, nullptr, 'n'},
    {"quiet", no_argument, nullptr, 'q'},
    {"read-only", no_argument, nullptr, 'r'},
    {"recursive", no_argument, nullptr, 'R'},
    {"test-opts", required_argument, nullptr, 'O'},
    {"types", required_argument, nullptr, 't'},
    {"verbose", no_argument, nullptr, 'v'},
    {"version", no_argument, nullptr, 'V'},
    {nullptr, 0, nullptr, 0},
    {"all-or-nothing", no_argument, nullptr, kAllOrNothing},
    {"defer", required_argument, nullptr, kDefer},
    {"jobs", required_argument, nullptr, kJobs},
    {"json", no_argument, nullptr, kJson},
    {"strict", no_argument, nullptr, kStrict},
    {"wait", optional_argument, nullptr, kWait},
    {nullptr, 0, nullptr, 0},
}};

std::array<option, kLongOptions.size()> long_options(Voice voice) {
  std::array<option, kLongOptions.size()> list = kLongOptions;
  constexpr std::size_t kGap = kLongOptions.size() - kOwnOptions - 2;
  static_assert(kLongOptions[kGap].name == nullptr);
  if (voice == Voice::kUnmoor) std::move(list.begin() + kGap + 1, list.end(), list.begin() + kGap);
  return list;
}

const char* try_help(Voice voice) {
  return voice == Voice::kUmount ? "Try 'umount --help' for more information.\n"
                                 : "Try 'unmoor umount --help' for more information.\n";
}

int usage_error(Voice voice, const char* what) {
  std::fprintf(stderr, "umount: %s\n%s", what, try_help(voice));
  return kExitUsage;
}

int bad_argument(Voice voice, const char* name, const char* value, const char* wanted) {
  std::fprintf(stderr, "umount: --%s: '%s' is not %s\n%s", name, value, wanted, try_help(voice));
  return kExitUsage;
}

bool parse_defer(const char* text, detach::Defer& out) {
  constexpr std::array kNames = {"auto", "elsewhere", "always", "never"};
  constexpr std::array kValues = {detach::Defer::kAuto, detach::Defer::kElsewhere, detach::Defer::kAlways,
                                  detach::Defer::kNever};
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (std::strcmp(text, kNames[i]) == 0) {
      out = kValues[i];
      return true;
    }
  }
  return false;
}

// Seconds, with a fraction; none: as long as it takes. strtod, because from_chars for a double is the one thing here
// that would link libm, and loading that takes a fifth of /bin/true's time at every unmount.
bool parse_wait(const char* text, std::optional<long>& milliseconds) {
  milliseconds = -1;
  if (text == nullptr) return true;
  char* stop = nullptr;
  if (*text == '\0' || text[std::strspn(text, "0123456789.")] != '\0') return false;
  const double seconds = std::strtod(text, &stop);
  if (*stop != '\0' || stop == text || seconds > 1e8) return false;
  milliseconds = static_cast<long>(seconds * 1000);
  return true;
}

bool parse_jobs(const char* text, unsigned& out) {
  const char* const end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, out);
  return error == std::errc{} && stop == end && out >= 1 && out <= 4096;
}

// Options that exclude each other, as umount(8) groups them. Each row in the order in which it is printed.
struct Exclusion {
  std::array<int, 3> options;
  const char* names;
};
constexpr std::array<Exclusion, 4> kExclusions = {{
    {{'A', 'a', 0}, "--all-targets --all"},
    {{'R', 'a', 0}, "--recursive --all"},
    {{'R', 'r', 0}, "--recursive --read-only"},
    {{'R', 't', 0}, "--test-opts --recursive --types"},
}};

// Says so when `chosen` excludes an earlier option.
class Exclusions {
 public:
  [[nodiscard]] bool refuse(int chosen) {
    for (std::size_t row = 0; row < kExclusions.size(); ++row) {
      for (const int member : kExclusions[row].options) {
        if (member == 0 || member != chosen) continue;
        if (first_[row] != 0 && first_[row] != chosen) {
          std::fprintf(stderr, "umount: mutually exclusive arguments: %s\n", kExclusions[row].names);
          return true;
        }
        first_[row] = chosen;
      }
    }
    return false;
  }

 private:
  std::array<int, kExclusions.size()> first_{};
};

}  // namespace

int Options::umount_flags() const {
  return (lazy ? MNT_DETACH : 0) | (force ? MNT_FORCE : 0);
}

std::expected<Options, int> parse_options(Voice voice, int argc, char** argv) {
  Options options;
  options.voice = voice;
  const std::array<option, kLongOptions.size()> list = long_options(voice);
  Exclusions exclusions;
  bool all = false;
  bool all_targets = false;
  for (;;) {
    const int chosen = getopt_long(argc, argv, kShortOptions, list.data(), nullptr);
    if (chosen == -1) break;
    if (exclusions.refuse(chosen)) return std::unexpected(kExitUsage);
    options.past_fstab |= chosen == kFake || std::strchr("aAfnNORrt", chosen) != nullptr;
    switch (chosen) {
      case 'a':
        all = true;
        break;
      case 'A':
        all_targets = true;
        break;
      case 'c':
        options.no_canonicalize = true;
        break;
      case 'd':
        options.detach_loop = true;
        break;
      case kFake:
        options.fake = true;
        break;
      case 'f':
        options.force = true;
        break;
      case 'i':
        options.internal_only = true;
        break;
      case 'l':
        options.lazy = true;
        break;
      case 'n':
        options.no_mtab = true;
        break;
      case 'N':
        options.name_space = optarg;
        break;
      case 'O':
        options.test_options = optarg;
        break;
      case 'q':
        options.quiet = true;
        break;
      case 'R':
        options.recursive = true;
        break;
      case 'r':
        options.read_only = true;
        break;
      case 't':
        options.types = optarg;
        break;
      case 'v':
        options.verbose = true;
        break;
      case 'h':
        options.action = Action::kHelp;
        return options;
      case 'V':
        options.action = Action::kVersion;
        return options;
      case kJson:
        options.json = true;
        break;
      case kAllOrNothing:
        options.all_or_nothing = true;
        break;
      case kStrict:
        options.strict = true;
        break;
      case kWait:
        if (!parse_wait(optarg, options.wait))
          return std::unexpected(bad_argument(voice, "wait", optarg, "a number of seconds"));
        break;
      case kDefer:
        if (!parse_defer(optarg, options.defer))
          return std::unexpected(bad_argument(voice, "defer", optarg, "auto, elsewhere, always or never"));
        break;
      case kJobs:
        if (!parse_jobs(optarg, options.jobs))
          return std::unexpected(bad_argument(voice, "jobs", optarg, "a number from 1 to 4096"));
        break;
      default:
        std::fputs(try_help(voice), stderr);
        return std::unexpected(kExitUsage);
    }
  }
  options.targets = {argv + optind, static_cast<std::size_t>(argc - optind)};
  if (all) {
    options.action = Action::kAll;
    if (!options.targets.empty()) return std::unexpected(usage_error(voice, "unexpected number of arguments"));
  } else if (options.targets.empty()) {
    return std::unexpected(usage_error(voice, "bad usage"));
  } else if (all_targets) {
    options.action = Action::kAllTargets;
  } else if (options.recursive) {
    options.action = Action::kRecursive;
  }
  if (options.action != Action::kTargets && (options.wait || options.strict))
    return std::unexpected(usage_error(voice, "--wait and --strict go with single targets only"));
  if (options.action == Action::kTargets && options.all_or_nothing)
    return std::unexpected(usage_error(voice, "--all-or-nothing goes with --recursive, --all-targets or --all only"));
  return options;
}

}  // namespace unmoor::cli::umount
