// SPDX-License-Identifier: MIT
// Unmounting many mounts of one namespace with one read of its mount table.
//
// Lazy (MNT_DETACH): one detach of each top; what is below goes with it. Otherwise umount's promise is kept for every
// mount (shut down when the call returns, if nothing else holds it), and mounts that are independent of each other are
// unmounted at the same time where that pays: concurrent grace periods are shared by the kernel.
//
// No mount is taken that is not in the list: before each call the mount that its path leads to is compared with the
// one that is meant.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "detach/policy.h"
#include "kernel/mount_table.h"
#include "kernel/system_calls.h"

namespace unmoor::detach {

enum class Discipline : std::uint8_t {
  kFreely,       // children before parents, tops of stacks first, whatever the list's order; go on after a failure
  kInOrderGoOn,  // the result is that of one call after the other in the list's order, with each one tried
  kInOrderStop,  // the same, and nothing after the first failure is touched
};

enum class Fate : std::uint8_t {
  kUntried,    // stopped before it came to it
  kUnmounted,  // by us (lazily: with the top that it was under)
  kWentAlong,  // it was gone when its turn came: by propagation, or by somebody else
  kFailed,
};

struct MountFate {
  Fate fate = Fate::kUntried;
  int error = 0;         // kFailed: umount2's errno; covered: EBUSY if a mount is there at all
  bool covered = false;  // kFailed: its path leads to another mount, which was not asked for
  const kernel::MountEntry* blocked_by = nullptr;  // kFailed: this one, below it, stays; no call was made
};

struct ManyOptions {
  int umount_flags = 0;  // MNT_DETACH, MNT_FORCE
  Discipline discipline = Discipline::kFreely;
  unsigned jobs = 0;                                 // at most so many calls at once; 0: as many as pay on this machine
  Options lazy{};                                    // for MNT_DETACH: when to return early
  const std::atomic<bool>* stop = nullptr;           // once true, no further mount is begun
  std::function<void(std::size_t done)> progress{};  // called now and then, by the calling thread
};

// The mounts to unmount: lines of one table, none twice.
using MountList = std::span<const kernel::MountEntry* const>;

// One fate for each mount of `list`. Never fails as a whole: without threads it goes one by one.
[[nodiscard]] std::vector<MountFate> unmount_many(const kernel::SystemCalls& calls, const kernel::MountTable& table,
                                                  MountList list, const ManyOptions& options);

// What can be known about each mount of the list without unmounting anything: locked, no permission, in use (the
// kernel's own test, MNT_EXPIRE; it has one only for a mount that no other lies on or below). kFailed: it would stay.
// Anything may change before the unmount itself: a race remains.
[[nodiscard]] std::vector<MountFate> check_many(const kernel::SystemCalls& calls, const kernel::MountTable& table,
                                                MountList list);

}  // namespace unmoor::detach
