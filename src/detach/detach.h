// SPDX-License-Identifier: MIT
// umount2(2) that need not wait for the grace period: the errors are the kernel's own, the tree changes in the same
// way, and it returns early only when the policy says that nobody can tell.
//
// Thread-safety: any thread, any number at once. No signal disposition changes, no descriptor stays open, and no
// child is visible to wait(2) (Caller::kLibrary).
#pragma once

#include <chrono>

#include "detach/policy.h"
#include "kernel/error.h"
#include "kernel/system_calls.h"

namespace unmoor::detach {

struct Outcome {
  bool deferred = false;  // returned before the grace period; always reason == kDeferred
  DeferReason reason = DeferReason::kNever;
  std::chrono::microseconds took{};
};

// Unmounts what `target` leads to, as umount2(target, umount_flags) does. `target` is handed to the kernel as it is:
// any bytes, relative or absolute, and a bad pointer is EFAULT. Without MNT_DETACH it is the plain system call.
// Errors: those of umount2(2), with the kernel's errno.
[[nodiscard]] Result<Outcome> detach_one(const kernel::SystemCalls& calls, const char* target, int umount_flags,
                                         const Options& options);

// Waits until every helper that this process started has ended, and reaps it. Each detach_one reaps those that have
// ended already.
void reap_helpers();

}  // namespace unmoor::detach
