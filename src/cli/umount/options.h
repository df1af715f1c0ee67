// SPDX-License-Identifier: MIT
// What a command line of umount(8) asks for, and what `unmoor umount` adds to it.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <span>

#include "detach/policy.h"

namespace unmoor::cli::umount {

// Whose words the program speaks. Called by the name `umount` it is umount(8), byte for byte.
enum class Voice : std::uint8_t { kUmount, kUnmoor };

// What to do with the command line.
enum class Action : std::uint8_t {
  kTargets,     // unmount what `targets` names
  kAll,         // -a: every filesystem of the table that the lists let through
  kAllTargets,  // -A: every mount point of each named filesystem; with -R all below each
  kRecursive,   // -R: each named tree
  kHelp,
  kVersion,
};

struct Options {
  Voice voice = Voice::kUnmoor;
  Action action = Action::kTargets;

  // umount(8)'s own.
  bool recursive = false;  // with kAllTargets
  bool no_canonicalize = false;
  bool detach_loop = false;
  bool fake = false;
  bool force = false;
  bool internal_only = false;
  bool lazy = false;
  bool no_mtab = false;
  bool read_only = false;
  bool verbose = false;
  bool quiet = false;
  const char* types = nullptr;
  const char* test_options = nullptr;
  const char* name_space = nullptr;
  // One of those with which an ordinary user goes past fstab, as with umount(8): what the kernel says then counts.
  bool past_fstab = false;

  // Ours.
  detach::Defer defer = detach::Defer::kAuto;
  bool json = false;
  bool all_or_nothing = false;
  std::optional<long> wait{};  // until the filesystem is gone; milliseconds, -1: as long as it takes
  bool strict = false;         // a filesystem that stays in use after its unmount is a failure
  unsigned jobs = 0;           // at most so many unmounts at once; 0: as many as pay

  std::span<char* const> targets;

  [[nodiscard]] int umount_flags() const;  // MNT_DETACH, MNT_FORCE
};

// Reads the command line by getopt_long's rules (permuted, bundled, abbreviated). What is wrong has been said on stderr
// when it returns an exit code.
[[nodiscard]] std::expected<Options, int> parse_options(Voice voice, int argc, char** argv);

void print_help(Voice voice);
void print_version(Voice voice);

}  // namespace unmoor::cli::umount
