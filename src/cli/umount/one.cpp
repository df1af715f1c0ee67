// SPDX-License-Identifier: MIT
#include "cli/umount/one.h"

#include <cerrno>
#include <string>

#include "cli/umount/exit_code.h"
#include "cli/umount/place.h"
#include "detach/detach.h"

namespace unmoor::cli::umount {
namespace {

// The names under which umount(8) speaks of a target.
struct Names {
  std::string mount_point;  // as the mount table has it, or as it was given
  std::string source;       // empty: not said
};

// umount(8) looks an absolute name up by asking the filesystem, and then says the name as it was given and no source;
// any other name it finds in the mount table. We never ask the filesystem, but say the same.
bool said_as_given(const Options& options, const char* target) {
  return target[0] == '/' && !options.lazy && !options.force && !options.no_canonicalize && !options.detach_loop;
}

Names names_of(const kernel::SystemCalls& calls, const Options& options, const char* target) {
  if (!said_as_given(options, target)) {
    const Result<kernel::MountTable> table = kernel::MountTable::read(calls);
    if (table) {
      if (const kernel::MountEntry* const line = line_of(calls, *table, target))
        return {.mount_point = std::string(line->mount_point), .source = std::string(line->source)};
    }
  }
  return {.mount_point = target, .source = {}};
}

}  // namespace

int unmount_one(const kernel::SystemCalls& calls, const Options& options, const char* target, Report& report) {
  Names names;
  if (options.verbose || options.json) names = names_of(calls, options, target);
  const detach::Options how{.defer = options.defer, .caller = detach::Caller::kProgram};
  const Result<detach::Outcome> outcome = detach::detach_one(calls, target, options.umount_flags(), how);
  if (!outcome) {
    if (names.mount_point.empty()) names = names_of(calls, options, target);
    report.failed(target, names.mount_point, outcome.error().code);
    return kExitFailed;
  }
  report.unmounted(target, names.mount_point, names.source, *outcome);
  return kExitSuccess;
}

}  // namespace unmoor::cli::umount
