// SPDX-License-Identifier: MIT
// When a lazy unmount may return before the grace period is over, and why not when it may not (docs/detach.md).
#pragma once

#include <string_view>

namespace unmoor::kernel {
class MountTable;
}

namespace unmoor::detach {

enum class Defer {
  kAuto,       // early only if nobody can tell
  kElsewhere,  // also if each filesystem that loses a mount stays mounted somewhere that we can see
  kAlways,     // as soon as the mount is detached, whatever it is
  kNever,      // the plain system call
};

// Who calls. It decides whose cgroup the helper may hold for a moment, and how the helper is hidden from wait(2).
enum class Caller {
  kLibrary,  // any program: nothing of the helper may be seen in it
  kProgram,  // unmoor itself: it waits for no children but its own, and its parent may remove the cgroup once it exits
};

struct Options {
  Defer defer = Defer::kAuto;
  Caller caller = Caller::kLibrary;
  // The calling thread's, if it was read just now; nullptr: it is read when it is needed.
  const kernel::MountTable* table = nullptr;
};

// Why the call returned when it did. kDeferred is the only one that means "before the grace period".
enum class DeferReason {
  kDeferred,          // detached, and the rest goes on without the caller
  kFinishedFirst,     // allowed to defer, but the helper was done before the detach was seen
  kNotLazy,           // no MNT_DETACH: plain umount keeps its promise
  kNever,             // the caller asked for the plain call
  kPlainIsFaster,     // grace periods are expedited here: the plain call takes microseconds
  kFilesystemCounts,  // a filesystem that loses a mount may shut down, and somebody may be waiting for its device
  kPropagates,        // the unmount reaches mounts in namespaces that cannot be read, or that hold such a filesystem
  kNamespaceCounts,   // the caller's private mount namespace holds such a filesystem and may die before the helper
  kServer,            // something in the tree asks a server when it is released, which the hidden helper may not
  kPid1,              // the caller is process 1 of its pid namespace
  kCgroup,            // the helper would hold a cgroup that somebody may be about to remove
  kNotAMountPoint,    // nothing to detach there, or it cannot be named: the kernel's own answer
  kNoHelper,          // the helper could not be started or could not act: the plain call did it
  kNotSeen,           // this kernel or this process cannot see the mount table: nothing to detect with
};

// "deferred", "not-lazy", ...: stable, for JSON.
[[nodiscard]] std::string_view reason_name(DeferReason reason) noexcept;
// One plain sentence without a full stop.
[[nodiscard]] std::string_view reason_text(DeferReason reason) noexcept;

}  // namespace unmoor::detach
