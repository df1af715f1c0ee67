// SPDX-License-Identifier: MIT
#include "exec/descriptor_passing.h"

#include <array>
#include <cstring>
#include <sys/socket.h>

namespace unmoor::exec {

using kernel::SystemCalls;

namespace {

constexpr int kScmPidfd = 4;  // SCM_PIDFD, Linux 6.5

void take(const cmsghdr& header, Received& received) {
  const auto* const data = CMSG_DATA(const_cast<cmsghdr*>(&header));  // NOLINT: the macro's type
  const std::size_t size = header.cmsg_len - CMSG_LEN(0);
  if (header.cmsg_type == SCM_RIGHTS) {
    for (std::size_t at = 0; at + sizeof(int) <= size; at += sizeof(int)) {
      int fd = -1;
      std::memcpy(&fd, data + at, sizeof fd);
      received.descriptors.emplace_back(fd);
    }
  } else if (header.cmsg_type == SCM_CREDENTIALS && size >= sizeof(ucred)) {
    ucred credentials{};
    std::memcpy(&credentials, data, sizeof credentials);
    received.sender.pid = credentials.pid;
    received.sender.uid = credentials.uid;
  } else if (header.cmsg_type == kScmPidfd && size >= sizeof(int)) {
    int fd = -1;
    std::memcpy(&fd, data, sizeof fd);
    received.sender.pidfd.reset(fd);
  }
}

}  // namespace

Result<void> send_message(const SystemCalls& calls, int socket, const void* data, std::size_t size,
                          std::span<const int> descriptors) {
  iovec text{const_cast<void*>(data), size};  // NOLINT: sendmsg's type
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * kMostDescriptors)> control{};
  msghdr header{};
  header.msg_iov = &text;
  header.msg_iovlen = 1;
  if (!descriptors.empty()) {
    header.msg_control = control.data();
    header.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* const rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(rights), descriptors.data(), descriptors.size_bytes());
  }
  const long sent = calls.call(SYS_sendmsg, socket, SystemCalls::pointer(&header), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0) return fail_from(sent, "sendmsg");
  return {};
}

Result<Received> receive_message(const SystemCalls& calls, int socket, void* data, std::size_t size) {
  iovec text{data, size};
  // Rights, credentials, a pidfd and a security label may come; what does not fit is dropped by the kernel.
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * kMostDescriptors) + CMSG_SPACE(sizeof(ucred)) +
                                        CMSG_SPACE(sizeof(int)) + 256>
      control{};
  msghdr header{};
  header.msg_iov = &text;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  const long got = calls.call(SYS_recvmsg, socket, SystemCalls::pointer(&header), MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (got < 0) return fail_from(got, "recvmsg");
  Received received;
  received.size = static_cast<std::size_t>(got);
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part))
    if (part->cmsg_level == SOL_SOCKET) take(*part, received);
  return received;
}

Result<std::size_t> receive_text(const SystemCalls& calls, int socket, void* data, std::size_t size, int flags) {
  const long got =
      calls.call(SYS_recvfrom, socket, SystemCalls::pointer(data), static_cast<long>(size), flags | MSG_DONTWAIT);
  if (got < 0) return fail_from(got, "recv");
  return static_cast<std::size_t>(got);
}

}  // namespace unmoor::exec
