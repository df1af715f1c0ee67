// SPDX-License-Identifier: MIT
// One try to have a helper make the call: started, watched, given up or seen through.
#pragma once

#include <functional>

#include "detach/target.h"
#include "kernel/system_calls.h"

namespace unmoor::detach {

enum class Verdict {
  kNothingDone,  // the mount is as it was: make the plain call
  kDetached,     // the mount is detached, the helper still runs
  kFinished,     // the helper has ended, and the mount is detached
};

struct Attempt {
  const kernel::SystemCalls& calls;
  const Target& target;
  int umount_flags;
  // Asked once the mount is detached: may the caller return now, or only when the helper has ended? Empty: now.
  const std::function<bool()>& may_return;
};

struct Tried {
  Verdict verdict = Verdict::kNothingDone;
  pid_t running = 0;  // a child of the calling process that has not been waited for
};

// The helper is a child of the calling process, as visible to wait(2) as any other. All signals must be blocked.
[[nodiscard]] Tried try_with_helper(const Attempt& attempt);

// The same, and the child is remembered to be reaped.
[[nodiscard]] Verdict attempt_visibly(const Attempt& attempt);

// The same, but the calling process never has that child, only one that wait(2) does not see without __WCLONE.
//
// execve makes every process's exit signal SIGCHLD, so a helper with a memory of its own is seen by its parent's
// wait(-1), and its end is signalled. So the helper's parent is not the caller but a process in between: it shares the
// caller's memory (exit signal 0, no exec), and it is process 1 of a pid namespace, whose exit the kernel does not
// complete before every other process in it is gone. It gives up memory, descriptors, directories and namespaces
// first, and then waits for the helper inside its own exit: a parent that holds nothing. A third process, which the
// kernel kills at exactly that point, tells the caller when it has got there.
//
// The helper is sent SIGKILL then; it is past the last place that could heed it (it waits for the grace period), and
// the release completes as it does for any killed process. A release that asks a server may be cut short by that:
// not for network filesystems.
[[nodiscard]] Verdict attempt_hidden(const Attempt& attempt);

}  // namespace unmoor::detach
