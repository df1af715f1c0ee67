// SPDX-License-Identifier: MIT
#include "detach/detach.h"

#include <sys/mount.h>

namespace unmoor::detach {

Result<Outcome> detach_one(const kernel::SystemCalls& calls, const char* target, int umount_flags,
                           const Options& /*options*/) {
  const auto begun = std::chrono::steady_clock::now();
  const long result = calls.umount2(target, umount_flags);
  if (result < 0) return fail_from(result, "umount2");
  const auto took = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - begun);
  return Outcome{.deferred = false,
                 .reason = (umount_flags & MNT_DETACH) != 0 ? DeferReason::kNever : DeferReason::kNotLazy,
                 .took = took};
}

void reap_helpers() {}

}  // namespace unmoor::detach
