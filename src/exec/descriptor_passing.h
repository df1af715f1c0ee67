// SPDX-License-Identifier: MIT
// Messages with descriptors over SOCK_SEQPACKET sockets.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "exec/client_rights.h"
#include "kernel/error.h"
#include "kernel/system_calls.h"
#include "kernel/unique_fd.h"

namespace unmoor::exec {

inline constexpr std::size_t kMostDescriptors = 8;

struct Received {
  std::size_t size = 0;  // 0: the other end is closed
  std::vector<kernel::UniqueFd> descriptors;
  Sender sender;  // pid 0 without SO_PASSCRED
};

// Never waits. Errors: those of sendmsg(2), EAGAIN when there is no room.
[[nodiscard]] Result<void> send_message(const kernel::SystemCalls& calls, int socket, const void* data,
                                        std::size_t size, std::span<const int> descriptors = {});
// Never waits. Errors: those of recvmsg(2).
[[nodiscard]] Result<Received> receive_message(const kernel::SystemCalls& calls, int socket, void* data,
                                               std::size_t size);
// Takes a message off the queue; its descriptors are never opened here.
[[nodiscard]] Result<std::size_t> receive_text(const kernel::SystemCalls& calls, int socket, void* data,
                                               std::size_t size, int flags);

}  // namespace unmoor::exec
