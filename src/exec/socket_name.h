// SPDX-License-Identifier: MIT
// The abstract address of the broker. It exists only in the network namespace it was made in and leaves nothing behind.
#pragma once

#include <cstddef>
#include <cstring>
#include <sys/socket.h>
#include <sys/un.h>

#include "exec/token.h"

namespace unmoor::exec {

class SocketName {
 public:
  explicit SocketName(const Token& token) {
    constexpr char kPrefix[] = "unmoor-exec-";
    address_.sun_family = AF_UNIX;
    char* out = address_.sun_path + 1;  // the leading NUL makes it abstract
    std::memcpy(out, kPrefix, sizeof kPrefix - 1);
    out = token_detail::write_hex(out + sizeof kPrefix - 1, token.name);
    size_ = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path)) + static_cast<socklen_t>(out - address_.sun_path);
  }

  [[nodiscard]] const sockaddr_un& address() const { return address_; }
  [[nodiscard]] socklen_t size() const { return size_; }

 private:
  sockaddr_un address_{};
  socklen_t size_ = 0;
};

}  // namespace unmoor::exec
