// SPDX-License-Identifier: MIT
#include "kernel/unix_sockets.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <sys/socket.h>

#include "kernel/procfs_text.h"
#include "kernel/unique_fd.h"

namespace unmoor::kernel {
namespace {

// The kernel hands out dev_t in its own packing (12 bits of major over 20 of minor).
DeviceNumber unpack(std::uint32_t device) {
  return {device >> 20, device & 0xfffff};
}

void add_message(std::string_view message, UnixSockets& out) {
  unix_diag_msg header;
  if (message.size() < sizeof header) return;
  std::memcpy(&header, message.data(), sizeof header);
  message.remove_prefix(sizeof header);
  BoundSocket socket{.inode = header.udiag_ino, .file_inode = 0, .file_device = {}, .path = {}};
  bool has_file = false;
  while (message.size() >= sizeof(nlattr)) {
    nlattr attribute;
    std::memcpy(&attribute, message.data(), sizeof attribute);
    if (attribute.nla_len < sizeof attribute || attribute.nla_len > message.size()) break;
    const std::string_view value = message.substr(sizeof attribute, attribute.nla_len - sizeof attribute);
    if (attribute.nla_type == UNIX_DIAG_NAME) socket.path = std::string(value.substr(0, value.find('\0')));
    if (attribute.nla_type == UNIX_DIAG_VFS && value.size() >= sizeof(unix_diag_vfs)) {
      unix_diag_vfs file;
      std::memcpy(&file, value.data(), sizeof file);
      socket.file_inode = file.udiag_vfs_ino;
      socket.file_device = unpack(file.udiag_vfs_dev);
      has_file = true;
    }
    if (attribute.nla_type == UNIX_DIAG_RQLEN && value.size() >= sizeof(unix_diag_rqlen)) {
      unix_diag_rqlen queue;
      std::memcpy(&queue, value.data(), sizeof queue);
      if (header.udiag_type == SOCK_STREAM && queue.udiag_rqueue == 0) out.drained.insert(header.udiag_ino);
    }
    message.remove_prefix(std::min<std::size_t>((attribute.nla_len + 3U) & ~3U, message.size()));
  }
  if (has_file) out.bound.push_back(std::move(socket));
}

}  // namespace

Result<UnixSockets> unix_sockets_by_diag(const SystemCalls& calls) {
  const long fd = calls.call(SYS_socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
  if (fd < 0) return fail_from(fd, "socket", "sock_diag");
  const UniqueFd owner(static_cast<int>(fd));
  struct {
    nlmsghdr header;
    unix_diag_req request;
  } ask{};
  ask.header.nlmsg_len = sizeof ask;
  ask.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  ask.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  ask.request.sdiag_family = AF_UNIX;
  ask.request.udiag_states = ~0U;
  ask.request.udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_VFS | UDIAG_SHOW_RQLEN;
  const long sent = calls.call(SYS_sendto, owner.get(), SystemCalls::pointer(&ask), sizeof ask);
  if (sent < 0) return fail_from(sent, "send", "sock_diag");
  UnixSockets found;
  alignas(nlmsghdr) std::array<char, 32768> buffer;
  for (;;) {
    const long got = calls.call(SYS_recvfrom, owner.get(), SystemCalls::pointer(buffer.data()), buffer.size());
    if (got == -EINTR) continue;
    if (got <= 0) return fail(got < 0 ? static_cast<int>(-got) : EPROTO, "receive", "sock_diag");
    std::string_view rest(buffer.data(), static_cast<std::size_t>(got));
    while (rest.size() >= sizeof(nlmsghdr)) {
      nlmsghdr header;
      std::memcpy(&header, rest.data(), sizeof header);
      if (header.nlmsg_len < sizeof header || header.nlmsg_len > rest.size()) return fail(EPROTO, "parse", "sock_diag");
      if (header.nlmsg_type == NLMSG_DONE) return found;
      const std::string_view body = rest.substr(sizeof header, header.nlmsg_len - sizeof header);
      if (header.nlmsg_type == NLMSG_ERROR) {
        int code = -EPROTO;
        if (body.size() >= sizeof code) std::memcpy(&code, body.data(), sizeof code);
        return fail(code < 0 ? -code : EPROTO, "receive", "sock_diag");
      }
      add_message(body, found);
      rest.remove_prefix(std::min<std::size_t>((header.nlmsg_len + 3U) & ~3U, rest.size()));
    }
  }
}

std::vector<BoundSocket> parse_net_unix(std::string_view text) {
  std::vector<BoundSocket> found;
  (void)take_until(text, '\n');  // the heading
  while (!text.empty()) {
    // "Num: RefCount Protocol Flags Type St Inode Path"
    std::string_view line = take_until(text, '\n');
    for (int field = 0; field < 6; ++field)
      (void)take_word(line);
    const std::string_view inode = take_word(line);
    if (!line.starts_with(' ')) continue;
    line.remove_prefix(1);
    if (line.empty() || line.starts_with('@')) continue;  // unbound, or a name outside the filesystem
    BoundSocket socket{.inode = 0, .file_inode = 0, .file_device = {}, .path = std::string(line)};
    (void)std::from_chars(inode.data(), inode.data() + inode.size(), socket.inode);
    found.push_back(std::move(socket));
  }
  return found;
}

}  // namespace unmoor::kernel
