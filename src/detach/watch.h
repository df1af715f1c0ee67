// SPDX-License-Identifier: MIT
// Sees the moment in which a mount leaves the mount namespace, before the grace period that its unmounting waits for.
//
// Absence counts only after presence was seen by the same means: a mount that this thread cannot see (another
// namespace, outside its root) would look detached from the start.
#pragma once

#include "kernel/error.h"
#include "kernel/mount_id.h"
#include "kernel/unique_fd.h"

namespace unmoor::detach {

class DetachWatch {
 public:
  // The mount is there now. Errors: ENOENT when it cannot be seen; those of open(2) without /proc.
  [[nodiscard]] static Result<DetachWatch> begin(const kernel::SystemCalls& calls, const kernel::MountId& id);

  // POLLPRI on it: the mount table has changed since the last look.
  [[nodiscard]] int events() const { return events_.get(); }
  [[nodiscard]] bool detached() const;

 private:
  enum class Sight { kPresent, kAbsent, kUnknown };

  DetachWatch(const kernel::SystemCalls& calls, const kernel::MountId& id) : calls_(&calls), id_(id) {}
  [[nodiscard]] Sight look() const;
  [[nodiscard]] Sight look_in_table() const;
  [[nodiscard]] Result<kernel::MountId> root() const;

  const kernel::SystemCalls* calls_;
  kernel::MountId id_;
  kernel::MountId root_;  // of the caller, by which it sees the table
  kernel::UniqueFd events_;
  bool by_statmount_ = false;
};

}  // namespace unmoor::detach
