// SPDX-License-Identifier: MIT
// One lazy unmount, asked of the broker.
#pragma once

#include <cstdint>

#include "exec/shim/connection.h"
#include "exec/token.h"

namespace unmoor::exec::shim {

// The root directory that the program started with.
struct Origin {
  unsigned device_major = 0;
  unsigned device_minor = 0;
  unsigned long inode = 0;
  [[nodiscard]] static Origin of_root();
};

struct Asked {
  enum class Result { kDetached, kPlain } result = Result::kPlain;
  bool was_origin = false;    // the target is the root directory that the program started with
  const char* why = nullptr;  // kPlain: why, for the report; nullptr when the broker said so
  std::uint64_t mount = 0;    // its id: unique from Linux 6.8
  bool unanswered = false;    // the broker was asked and never answered
};

// After the broker failed to answer it may still have detached the mount: true when the mount is in no namespace of
// ours any more (Linux 6.8; false where that cannot be told).
[[nodiscard]] bool is_detached(std::uint64_t mount);

// `last`: the mount that was detached last. Runtimes unmount "." until EINVAL says that nothing is left; the kernel is
// asked directly then. Never changes errno, never leaves a descriptor but the ticket (close-on-exec, a high number).
[[nodiscard]] Asked ask_broker(Connection& connection, const Token& token, const Origin& origin, std::uint64_t last,
                               const char* target, int flags);

}  // namespace unmoor::exec::shim
