// SPDX-License-Identifier: MIT
#include "detach/watch.h"

#include "kernel/mount_table.h"
#include "kernel/statmount.h"

namespace unmoor::detach {

using kernel::MountPresence;

Result<kernel::MountId> DetachWatch::root() const {
  return kernel::mount_id(*calls_, AT_FDCWD, "/", 0, kernel::kStatxMountId);
}

Result<DetachWatch> DetachWatch::begin(const kernel::SystemCalls& calls, const kernel::MountId& id) {
  DetachWatch watch(calls, id);
  // The event counter is read at open: every change after this line raises POLLPRI.
  const long fd = calls.open("/proc/thread-self/mountinfo", O_RDONLY);
  if (fd < 0) return fail_from(fd, "open", "/proc/thread-self/mountinfo");
  watch.events_.reset(static_cast<int>(fd));
  watch.by_statmount_ = id.unique() && kernel::mount_presence(calls, id.value) == MountPresence::kPresent;
  if (watch.by_statmount_) return watch;
  if (id.unique()) return fail(ENOENT, "statmount");
  const auto seen_from = watch.root();
  if (!seen_from) return std::unexpected(seen_from.error());
  watch.root_ = *seen_from;
  if (watch.look_in_table() != Sight::kPresent) return fail(ENOENT, "mountinfo");
  return watch;
}

DetachWatch::Sight DetachWatch::look() const {
  if (!by_statmount_) return look_in_table();
  switch (kernel::mount_presence(*calls_, id_.value)) {
    case MountPresence::kPresent:
      return Sight::kPresent;
    case MountPresence::kAbsent:
      return Sight::kAbsent;
    case MountPresence::kUnknown:
      return Sight::kUnknown;
  }
  return Sight::kUnknown;
}

DetachWatch::Sight DetachWatch::look_in_table() const {
  const auto table = kernel::MountTable::read(*calls_);
  if (!table) return Sight::kUnknown;
  if (table->by_id(static_cast<int>(id_.value)) != nullptr) return Sight::kPresent;
  // The table shows what can be reached from the reader's root: another root is another table.
  const auto now = root();
  return now && now->same_mount(root_) ? Sight::kAbsent : Sight::kUnknown;
}

bool DetachWatch::detached() const {
  return look() == Sight::kAbsent;
}

}  // namespace unmoor::detach
