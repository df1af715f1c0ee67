// SPDX-License-Identifier: MIT
#include "exec/shim/connection.h"

#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "exec/raw_call.h"
#include "exec/socket_name.h"

namespace unmoor::exec::shim {
namespace {

// Below the usual soft limit of 1024, above what programs and shells count up to.
constexpr int kHighFd = 960;

bool same_user(int fd) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return raw_call(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, address(&peer), address(&size)) == 0 &&
         peer.uid == static_cast<uid_t>(raw_call(SYS_geteuid));
}

ino_t inode_of(int fd) {
  struct ::stat facts{};
  if (raw_call(SYS_newfstatat, fd, address(""), address(&facts), AT_EMPTY_PATH) != 0) return 0;
  return S_ISSOCK(facts.st_mode) ? facts.st_ino : 0;
}

}  // namespace

int move_high(int fd) {
  const long high = raw_call(SYS_fcntl, fd, F_DUPFD_CLOEXEC, kHighFd);
  static_cast<void>(raw_call(SYS_close, fd));
  return high < 0 ? -1 : static_cast<int>(high);
}

void Connection::open(const Token& token, Keep keep) {
  RawFd fd(raw_call(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return;
  const SocketName name(token);
  if (raw_call(SYS_connect, fd.get(), address(&name.address()), static_cast<long>(name.size())) != 0) return;
  if (!same_user(fd.get())) return;
  Message hello;
  std::memcpy(hello.secret, token.client_secret, kSecretSize);
  if (raw_call(SYS_sendto, fd.get(), address(&hello), sizeof hello, MSG_NOSIGNAL | MSG_DONTWAIT, 0) < 0) return;
  if (keep == Keep::kNo) return;
  fd_ = move_high(fd.release());
  inode_ = fd_ < 0 ? 0 : inode_of(fd_);
}

bool Connection::still_ours() const {
  return fd_ >= 0 && inode_ != 0 && inode_of(fd_) == inode_;
}

bool Connection::trusted(const Token& token) {
  if (!still_ours()) open(token, Keep::kYes);
  if (!still_ours()) return false;
  pollfd waiting{fd_, POLLIN, 0};
  timespec timeout{kReplyTimeoutMilliseconds / 1000, (kReplyTimeoutMilliseconds % 1000) * 1'000'000L};
  long ready;
  do
    ready = raw_call(SYS_ppoll, address(&waiting), 1, address(&timeout), 0, 0);  // Linux updates the timeout
  while (ready == -EINTR);
  std::uint8_t secret[kSecretSize + 1];
  return ready == 1 &&
         raw_call(SYS_recvfrom, fd_, address(secret), sizeof secret, MSG_PEEK | MSG_DONTWAIT, 0) == kSecretSize &&
         std::memcmp(secret, token.broker_secret, kSecretSize) == 0;
}

bool Connection::send(const Message& message, const int* descriptors, unsigned count) {
  iovec text{const_cast<Message*>(&message), sizeof message};  // NOLINT: sendmsg's type
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kDetachDescriptors)] = {};
  msghdr header{};
  header.msg_iov = &text;
  header.msg_iovlen = 1;
  if (count > 0) {
    header.msg_control = control;
    header.msg_controllen = CMSG_SPACE(sizeof(int) * count);
    cmsghdr* const rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int) * count);
    std::memcpy(CMSG_DATA(rights), descriptors, sizeof(int) * count);
  }
  return still_ours() && raw_call(SYS_sendmsg, fd_, address(&header), MSG_NOSIGNAL | MSG_DONTWAIT) > 0;
}

}  // namespace unmoor::exec::shim
