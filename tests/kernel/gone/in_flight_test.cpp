// SPDX-License-Identifier: MIT
// Descriptors in flight, over every sort of unix socket. Most sockets are not asked, because the kernel lists them as
// drained: here is who must not be among those.
#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "gone/inquiry.h"
#include "support/tmpfs_at_x.h"

namespace unmoor::gone {
namespace {

using kernel::UniqueFd;

class InFlight : public test::TmpfsAtX {
 protected:
  // A file of X, with `text` beside it; afterwards nobody has it open.
  static bool send_file(int socket, std::string_view text) {
    const UniqueFd file(open("X", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const int sent = file.get();
    iovec data{.iov_base = const_cast<char*>(text.data()), .iov_len = text.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof sent)] = {};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof sent);
    std::memcpy(CMSG_DATA(header), &sent, sizeof sent);
    return sendmsg(socket, &message, 0) == static_cast<ssize_t>(text.size());
  }
  static std::size_t candidates_at(int socket) {
    Result<Census> census = Census::take(kernel::SystemCalls::real());
    auto shared = std::make_shared<Census>(std::move(*census));
    const Result<Target> target = resolve_target(*shared, "X", AskFor::kWhatItNames);
    const Result<Inquiry> inquiry = inquire(shared, {*target});
    EXPECT_TRUE(inquiry);
    return static_cast<std::size_t>(std::ranges::count_if(inquiry->answers[0].holders, [&](const Holder& holder) {
      return holder.kind == HolderKind::kInFlight && holder.pid == getpid() && holder.descriptor == socket;
    }));
  }
  static bool tells(int socket) {
    char path[64];
    std::snprintf(path, sizeof path, "/proc/self/fdinfo/%d", socket);
    const UniqueFd file(open(path, O_RDONLY | O_CLOEXEC));
    char text[512] = "";
    return read(file.get(), text, sizeof text - 1) > 0 && std::strstr(text, "scm_fds:") != nullptr;
  }
};

struct Pair {
  explicit Pair(int type) {
    int ends[2] = {-1, -1};
    (void)!socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends);
    sender.reset(ends[0]);
    receiver.reset(ends[1]);
  }
  UniqueFd sender;
  UniqueFd receiver;
};

TEST_F(InFlight, OverASocketOfEachType) {
  for (const int type : {SOCK_STREAM, SOCK_SEQPACKET, SOCK_DGRAM}) {
    const Pair pair(type);
    if (!tells(pair.receiver.get())) GTEST_SKIP() << "needs scm_fds in fdinfo (Linux 6.7)";
    EXPECT_EQ(candidates_at(pair.receiver.get()), 0U) << type;
    ASSERT_TRUE(send_file(pair.sender.get(), "text")) << type;
    EXPECT_EQ(candidates_at(pair.receiver.get()), 1U) << type;
    EXPECT_EQ(candidates_at(pair.sender.get()), 0U) << type;
  }
}

TEST_F(InFlight, InAnEmptyMessage) {
  for (const int type : {SOCK_SEQPACKET, SOCK_DGRAM}) {
    const Pair pair(type);
    if (!tells(pair.receiver.get())) GTEST_SKIP() << "needs scm_fds in fdinfo (Linux 6.7)";
    ASSERT_TRUE(send_file(pair.sender.get(), "")) << type;
    EXPECT_EQ(candidates_at(pair.receiver.get()), 1U) << type;
  }
}

TEST_F(InFlight, BehindAMessageThatWasHalfRead) {
  const Pair pair(SOCK_STREAM);
  if (!tells(pair.receiver.get())) GTEST_SKIP() << "needs scm_fds in fdinfo (Linux 6.7)";
  ASSERT_EQ(write(pair.sender.get(), "ab", 2), 2);
  ASSERT_TRUE(send_file(pair.sender.get(), "c"));
  char read_first[2];
  ASSERT_EQ(read(pair.receiver.get(), read_first, 2), 2);
  EXPECT_EQ(candidates_at(pair.receiver.get()), 1U);
}

TEST_F(InFlight, OverAConnectionThatNobodyHasAccepted) {
  const UniqueFd listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!tells(listener.get())) GTEST_SKIP() << "needs scm_fds in fdinfo (Linux 6.7)";
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  std::snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "unmoor-in-flight-%d", getpid());
  const auto* const name = reinterpret_cast<const sockaddr*>(&address);
  ASSERT_EQ(bind(listener.get(), name, sizeof address), 0);
  ASSERT_EQ(listen(listener.get(), 1), 0);
  const UniqueFd sender(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(connect(sender.get(), name, sizeof address), 0);
  ASSERT_TRUE(send_file(sender.get(), "text"));
  EXPECT_EQ(candidates_at(listener.get()), 1U);
}

}  // namespace
}  // namespace unmoor::gone
