// SPDX-License-Identifier: MIT
#include "detach/many/one_of_many.h"

#include <cerrno>
#include <string>
#include <sys/mount.h>

#include "detach/detach.h"
#include "kernel/mount_id.h"

namespace unmoor::detach {
namespace {

using kernel::MountEntry;

// Whether the namespace still has the mount. Reads the whole table: only for what a look at the path leaves open.
bool in_table(const kernel::SystemCalls& calls, int id) {
  const Result<kernel::MountTable> table = kernel::MountTable::read(calls);
  return !table || table->by_id(id) != nullptr;
}

bool is_mount_root(const kernel::SystemCalls& calls, const char* path) {
  const Result<kernel::MountId> here =
      kernel::mount_id(calls, AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, kernel::kStatxMountId);
  return here && here->is_mount_root;
}

MountFate failed(int error) {
  return {.fate = Fate::kFailed, .error = error};
}

}  // namespace

OneOfMany::There OneOfMany::look(const MountEntry& entry, const char* path) const {
  const Result<kernel::MountId> here =
      kernel::mount_id(calls_, AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, kernel::kStatxMountId);
  if (!here) {
    // Nothing there: the mount is gone, or its mountpoint lies hidden under another mount. Any other error is for the
    // kernel to answer again.
    if (here.error().code != ENOENT && here.error().code != ENOTDIR) return There::kUnknown;
    return in_table(calls_, entry.id) ? There::kAnother : There::kGone;
  }
  const auto id = static_cast<int>(here->value);
  if (id == entry.id) return There::kMeant;
  if (id == entry.parent_id) return There::kGone;  // nothing hangs there any more
  return in_table(calls_, entry.id) ? There::kAnother : There::kGone;
}

// The answer of a call on the path, had it been made: flags that exclude each other are refused only after all else.
MountFate OneOfMany::covered(const char* path) const {
  const long result = calls_.umount2(path, MNT_EXPIRE | MNT_DETACH | UMOUNT_NOFOLLOW);
  const bool another = result == -EINVAL && is_mount_root(calls_, path);
  return {.fate = Fate::kFailed, .error = another || result >= 0 ? EBUSY : static_cast<int>(-result), .covered = true};
}

MountFate OneOfMany::explain(const MountEntry& entry, const char* path, int error) const {
  // Somebody else, or propagation, may have taken it between the look and the call.
  if ((error == EINVAL || error == ENOENT) && look(entry, path) == There::kGone) return {.fate = Fate::kWentAlong};
  return failed(error);
}

MountFate OneOfMany::unmount(const MountEntry& entry, const kernel::MountTable* as_read) const {
  const std::string path(entry.mount_point);
  switch (look(entry, path.c_str())) {
    case There::kGone:
      return {.fate = Fate::kWentAlong};
    case There::kAnother:
      return covered(path.c_str());
    case There::kMeant:
    case There::kUnknown:
      break;
  }
  Options how = lazy_;
  how.table = as_read;
  const Result<Outcome> outcome = detach_one(calls_, path.c_str(), umount_flags_ | UMOUNT_NOFOLLOW, how);
  if (!outcome) return explain(entry, path.c_str(), outcome.error().code);
  return {.fate = Fate::kUnmounted};
}

MountFate OneOfMany::test(const MountEntry& entry) const {
  const std::string path(entry.mount_point);
  switch (look(entry, path.c_str())) {
    case There::kGone:
      return {.fate = Fate::kWentAlong};
    case There::kAnother:
      return covered(path.c_str());
    case There::kUnknown:
      return {.fate = Fate::kUntried};
    case There::kMeant:
      break;
  }
  const long result = calls_.umount2(path.c_str(), MNT_EXPIRE | UMOUNT_NOFOLLOW);
  if (result == -EAGAIN) {
    // Idle, and marked: the next MNT_EXPIRE would unmount it. Any use of the mount takes the mark away.
    (void)look(entry, path.c_str());
    return {.fate = Fate::kUntried};
  }
  if (result == 0) return {.fate = Fate::kUnmounted};  // somebody else's mark was on it
  return explain(entry, path.c_str(), static_cast<int>(-result));
}

}  // namespace unmoor::detach
