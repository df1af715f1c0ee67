// SPDX-License-Identifier: MIT
// A process that lives in one mount namespace of the kernel and does there what it is told over a socket. Its root is
// the namespace's; it knows no /proc.
#pragma once

#include <cstdint>
#include <sys/types.h>

#include "cli/tree/operation.h"
#include "kernel/error.h"
#include "kernel/unique_fd.h"

namespace unmoor::cli::tree {

// What is sent: this, then the source and the target (or name), each ended by a NUL.
struct Request {
  Verb verb;
  bool recursive;
  bool less_privileged;
  std::int32_t umount_flags;
  std::int32_t pin;  // number of a pin, for kPin and kUnpin
  AttributeBits attributes;
};

struct Reply {
  std::int32_t code;  // errno, 0: done
  std::int32_t pid;   // of a new worker
};

struct Worker {
  kernel::UniqueFd socket;
  pid_t pid = -1;
};

// Starts the first worker, a child of the caller, on a fresh tmpfs called "root" that is the root of a private mount
// namespace; inside a user namespace of its own when the caller may not mount. Errors: what the kernel refused.
[[nodiscard]] Result<Worker> start_first_worker();

// Sends one request and waits for the answer. For kCopyNamespace the new worker, a child of the caller too, comes back
// in `copied`. Errors of the socket end the worker: the Result is an error only then.
[[nodiscard]] Result<int> ask(Worker& worker, const Request& request, const char* source, const char* target,
                              Worker* copied = nullptr);

}  // namespace unmoor::cli::tree
