// SPDX-License-Identifier: MIT
// The shim's end of the broker's socket. One connection per program, shared by the processes it forks; each request has
// a reply socket of its own.
#pragma once

#include <sys/types.h>

#include "exec/protocol.h"
#include "exec/token.h"

namespace unmoor::exec::shim {

enum class Keep { kNo, kYes };

class Connection {
 public:
  // Connects and says hello; never waits. With Keep::kNo the broker only learns that this process exists.
  void open(const Token& token, Keep keep);
  // True when the broker has proved that it knows the token. Waits for that at most kReplyTimeoutMilliseconds.
  [[nodiscard]] bool trusted(const Token& token);
  // Sends without waiting; `count` descriptors. False when the broker cannot take it now or is gone.
  [[nodiscard]] bool send(const Message& message, const int* descriptors, unsigned count);

 private:
  [[nodiscard]] bool still_ours() const;

  int fd_ = -1;
  ino_t inode_ = 0;  // of the socket: the program may close descriptors it does not know and reuse their numbers
};

// Moves `fd` out of the way of the numbers that programs use, close-on-exec. Returns -1 when there is no room.
[[nodiscard]] int move_high(int fd);

}  // namespace unmoor::exec::shim
