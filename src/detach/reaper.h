// SPDX-License-Identifier: MIT
// The children of this process that are helpers: remembered until reaped, by pid.
//
// By pid and not by pidfd: no descriptor stays in a program that may close what it does not know. A pid of a child
// cannot be reused before the child is reaped, and only a wait with __WALL or __WCLONE by the program itself could do
// that. A forked child of the program inherits the list, finds none of them to be its own, and forgets them.
//
// Thread-safety and fork-safety: lock-free; each entry is held by one thread while it asks.
#pragma once

#include <sys/types.h>

#include "kernel/system_calls.h"

namespace unmoor::detach {

// Remembers a child that has to be reaped. When too many are pending it waits for one: a bound, not a leak.
void remember_helper(const kernel::SystemCalls& calls, pid_t child) noexcept;

enum class ReapMode { kThoseThatEnded, kWaitForAll };
void reap_remembered(const kernel::SystemCalls& calls, ReapMode mode) noexcept;

// Waits for one child until it has ended, and reaps it. Returns its exit code, or 128 + signal, or a negative errno.
[[nodiscard]] long wait_for_child(const kernel::SystemCalls& calls, pid_t child) noexcept;

}  // namespace unmoor::detach
