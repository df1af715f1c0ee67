// SPDX-License-Identifier: MIT
// One target of the command line: by one system call where that is all it takes, else by libmount.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>

#include "cli/umount/aftermath.h"
#include "cli/umount/exit_code.h"
#include "cli/umount/known_types.h"
#include "cli/umount/session.h"
#include "cli/umount/spelled_out.h"
#include "detach/detach.h"
#include "kernel/mount_id.h"
#include "kernel/statmount.h"

namespace unmoor::cli::umount {
namespace {

// The names under which umount(8) speaks of a target.
struct Names {
  std::string mount_point;  // as the mount table has it, or as it was given
  std::string source;       // empty: not said
};

const kernel::MountEntry* line_of(const kernel::SystemCalls& calls, const kernel::MountTable& table,
                                  const char* target) {
  const auto id = kernel::mount_id(calls, AT_FDCWD, target, 0, kernel::kStatxMountId);
  return id && id->is_mount_root ? table.by_id(static_cast<int>(id->value)) : nullptr;
}

Names names_of(const kernel::SystemCalls& calls, const Options& options, const char* target) {
  Names given{.mount_point = target, .source = {}};
  const Result<kernel::MountTable> table = kernel::MountTable::read(calls);
  const kernel::MountEntry* const line = table ? line_of(calls, *table, target) : nullptr;
  // With -c it is looked up by nothing but its name.
  const bool found = line != nullptr && (!options.no_canonicalize || spelled_out(target) == line->mount_point);
  if (!found || said_as_given(calls, options, Lookup::kFirst, target, line->type)) return given;
  return {.mount_point = std::string(line->mount_point), .source = std::string(line->source)};
}

}  // namespace

int Session::unmount_target(const char* target) {
  Aftermath aftermath(calls_, options_);
  aftermath.before(target);
  const int code = plain_call_suffices(target) ? unmount_directly(target) : unmount_by_libmount(target);
  return code == kExitSuccess ? aftermath.after() : code;
}

bool Session::plain_call_suffices(const char* target) {
  if (options_.name_space != nullptr || options_.fake || options_.read_only) return false;
  if (::getuid() != 0 || ::geteuid() != 0) return false;
  if (std::getenv("LIBMOUNT_FSTAB") != nullptr || std::getenv("LIBMOUNT_MTAB") != nullptr) return false;
  // A device, a tag, a plain directory, nothing at all: libmount looks it up. So does a kernel without mount ids.
  const auto id = kernel::mount_id(calls_, AT_FDCWD, target, options_.no_canonicalize ? AT_SYMLINK_NOFOLLOW : 0);
  if (!id || !id->is_mount_root) return false;
  Specials specials(calls_, options_);
  if (specials.any_by_mount_point()) {
    const Result<kernel::MountTable> table = kernel::MountTable::read(calls_);
    const kernel::MountEntry* const line = table ? line_of(calls_, *table, target) : nullptr;
    return line != nullptr && !specials.needs_libmount(*line);
  }
  if (options_.internal_only) return true;
  const Result<std::string> type = id->unique() ? kernel::mount_type(calls_, id->value) : fail(ENOSYS, "statmount");
  if (type && !type->starts_with("fuse")) return !has_helper(calls_, *type);
  // A FUSE filesystem's helper goes by the subtype, which the table has.
  const Result<kernel::MountTable> table = kernel::MountTable::read(calls_);
  const kernel::MountEntry* const line = table ? line_of(calls_, *table, target) : nullptr;
  return line != nullptr && !specials.needs_libmount(*line);
}

int Session::unmount_directly(const char* target) {
  Names names{.mount_point = {}, .source = {}};
  if (options_.verbose || options_.json) names = names_of(calls_, options_, target);
  const detach::Options how{.defer = options_.defer, .caller = detach::Caller::kProgram};
  const Result<detach::Outcome> outcome = detach::detach_one(calls_, target, options_.umount_flags(), how);
  if (!outcome) {
    if (names.mount_point.empty()) names = names_of(calls_, options_, target);
    report_.failed(target, names.mount_point, outcome.error().code);
    return kExitFailed;
  }
  report_.unmounted(target, names.mount_point, names.source, *outcome);
  return kExitSuccess;
}

int Session::unmount_by_libmount(const char* target) {
  Libmount* const library = libmount(false);
  // Without libmount: what a system call can do.
  if (library == nullptr) return libmount_missing_ ? unmount_directly(target) : libmount_refusal_;
  std::string name = target;
  if (library->restricted() && name.find('=') == std::string::npos) {
    char* const real = ::realpath(target, nullptr);
    if (real == nullptr) {
      std::fprintf(stderr, "umount: %s: %s\n", target, std::strerror(errno));
      return kExitUsage;
    }
    name = real;
    std::free(real);
  }
  const LibmountResult result = library->unmount(calls_, options_, name.c_str());
  report_.by_libmount(target, result);
  return result.exit_code;
}

}  // namespace unmoor::cli::umount
