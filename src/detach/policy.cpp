// SPDX-License-Identifier: MIT
#include "detach/policy.h"

namespace unmoor::detach {
namespace {

struct Words {
  std::string_view name;
  std::string_view text;
};

Words words(DeferReason reason) noexcept {
  switch (reason) {
    case DeferReason::kDeferred:
      return {"deferred", "detached; the grace period and the release go on without the caller"};
    case DeferReason::kFinishedFirst:
      return {"finished-first", "everything was over before the detach was seen"};
    case DeferReason::kNotLazy:
      return {"not-lazy", "not a lazy unmount: it returns when the filesystem is shut down"};
    case DeferReason::kNever:
      return {"never", "the plain system call was asked for"};
    case DeferReason::kPlainIsFaster:
      return {"plain-is-faster", "grace periods are expedited here, so the plain system call takes microseconds"};
    case DeferReason::kFilesystemCounts:
      return {"filesystem", "a filesystem that loses a mount may shut down now, and its device may be waited for"};
    case DeferReason::kPropagates:
      return {"propagates", "the unmount propagates to mounts that cannot be seen, or whose filesystem counts"};
    case DeferReason::kNamespaceCounts:
      return {"namespace", "the caller's private mount namespace holds a filesystem whose device may be waited for"};
    case DeferReason::kServer:
      return {"server", "its release may ask a server, and the helper of a library call can be interrupted in that"};
    case DeferReason::kPid1:
      return {"pid-1", "the caller is process 1 of its pid namespace"};
    case DeferReason::kCgroup:
      return {"cgroup", "the helper would hold the caller's cgroup"};
    case DeferReason::kNotAMountPoint:
      return {"not-a-mount-point", "there is no mount that can be named there"};
    case DeferReason::kNoHelper:
      return {"no-helper", "the helper could not be started or could not act"};
    case DeferReason::kNotSeen:
      return {"not-seen", "the mount table cannot be seen, so the detach could not be either"};
  }
  return {"unknown", "unknown"};
}

}  // namespace

std::string_view reason_name(DeferReason reason) noexcept {
  return words(reason).name;
}

std::string_view reason_text(DeferReason reason) noexcept {
  return words(reason).text;
}

}  // namespace unmoor::detach
