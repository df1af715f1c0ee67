// SPDX-License-Identifier: MIT
// A FUSE server that answers the kernel's first request and nothing more, and a process that waits for it.
#pragma once

#include <string>
#include <sys/types.h>

#include "kernel/unique_fd.h"

namespace unmoor::test {

class HungServer {
 public:
  // Mounts on `directory`, an existing one. `refusal()` says why when that is not possible here.
  explicit HungServer(const std::string& directory);
  HungServer(const HungServer&) = delete;
  HungServer& operator=(const HungServer&) = delete;
  ~HungServer();  // the connection dies with its descriptor: whoever waits gets ENOTCONN

  [[nodiscard]] const std::string& refusal() const { return refusal_; }
  // Starts a process that touches the mount and waits, and returns when its request is on its way.
  void let_somebody_wait();

 private:
  std::string directory_;
  std::string refusal_;
  kernel::UniqueFd device_;
  pid_t waiter_ = -1;
};

}  // namespace unmoor::test
