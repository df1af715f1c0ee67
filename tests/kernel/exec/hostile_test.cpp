// SPDX-License-Identifier: MIT
// Clients that lie to the broker: nothing is unmounted that they could not unmount themselves, and nothing hangs.
#include <array>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "container.h"
#include "exec/descriptor_passing.h"
#include "exec/launch.h"
#include "exec/socket_name.h"
#include "kernel/unique_fd.h"
#include "support/child.h"
#include "support/failing_calls.h"
#include "support/here.h"
#include "support/user_namespace.h"

namespace unmoor::exec {
namespace {

using kernel::SystemCalls;
using kernel::UniqueFd;

const SystemCalls& calls = SystemCalls::real();

UniqueFd open_path(const char* path) {
  return UniqueFd(open(path, O_PATH | O_CLOEXEC));
}

// Speaks the shim's protocol by hand.
class Client {
 public:
  explicit Client(const Token& token) : token_(token), socket_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
    const SocketName name(token);
    connected_ = connect(socket_.get(), reinterpret_cast<const sockaddr*>(&name.address()), name.size()) == 0;
  }
  bool greet() {
    Message hello;
    std::memcpy(hello.secret, token_.client_secret, kSecretSize);
    std::uint8_t answer[kSecretSize];
    return connected_ && send(hello, {}) && receive(socket_.get(), answer, sizeof answer) == sizeof answer &&
           std::memcmp(answer, token_.broker_secret, sizeof answer) == 0;
  }
  bool send(const Message& message, std::vector<int> descriptors) {
    return send_message(calls, socket_.get(), &message, sizeof message, descriptors).has_value();
  }
  // -1: nothing within a second, 0: closed.
  static long receive(int socket, void* out, std::size_t size) {
    pollfd waiting{socket, POLLIN, 0};
    if (poll(&waiting, 1, 1000) != 1) return -1;
    return recv(socket, out, size, MSG_DONTWAIT);
  }
  // What the broker answers to a request for `target` in `space`.
  Outcome ask(int target, int space, int root) {
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) return Outcome::kPlain;
    const UniqueFd here(ends[0]);
    UniqueFd there(ends[1]);
    Message message;
    message.kind = MessageKind::kDetach;
    message.flags = MNT_DETACH;
    if (!send(message, {there.get(), target, space, root})) return Outcome::kPlain;
    there.reset();
    Reply reply;
    return receive(here.get(), &reply, sizeof reply) == sizeof reply ? reply.outcome : Outcome::kPlain;
  }
  bool is_closed() {
    // With something of ours unread the kernel says ECONNRESET, else end of file.
    char byte = 0;
    pollfd waiting{socket_.get(), POLLIN, 0};
    return poll(&waiting, 1, 1000) == 1 && recv(socket_.get(), &byte, 1, MSG_DONTWAIT) <= 0;
  }

 private:
  Token token_;
  UniqueFd socket_;
  bool connected_ = false;
};

bool is_mounted(const char* path) {
  struct ::statx facts{};
  return calls.statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_MNT_ID, &facts) == 0 &&
         (facts.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

class ExecHostile : public testing::Test {
 protected:
  void SetUp() override {
    UNMOOR_NEEDS_MOUNTS();
    if (geteuid() != 0) GTEST_SKIP() << "needs root";
    auto started = start_broker(calls, Token{}, {.defer = detach::Defer::kAlways});
    ASSERT_TRUE(started) << started.error().doing;
    token_ = *started;
    mkdir("target", 0755);
    ASSERT_EQ(mount("t", "target", "tmpfs", 0, nullptr), 0);
    space_ = UniqueFd(open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC));
    root_ = open_path("/");
  }
  void TearDown() override { umount2("target", MNT_DETACH); }
  bool still_serves() {
    mkdir("other", 0755);
    if (mount("o", "other", "tmpfs", 0, nullptr) != 0) return false;
    Client client(token_);
    const UniqueFd target = open_path("other");
    const bool served = client.greet() && client.ask(target.get(), space_.get(), root_.get()) == Outcome::kDetached &&
                        !is_mounted("other");
    umount2("other", MNT_DETACH);
    return served;
  }
  Token token_;
  UniqueFd space_;
  UniqueFd root_;
};

TEST_F(ExecHostile, AnHonestRequestIsServed) {
  EXPECT_TRUE(still_serves());
}

// The answer is the mount's absence, not the worker's word that it is about to begin.
TEST_F(ExecHostile, AWorkerThatTakesLongToBeginIsWaitedFor) {
  class LateUnmount : public SystemCalls {
   public:
    [[nodiscard]] long call(long number, long a, long b, long c, long d, long e, long f) const noexcept override {
      if (number == SYS_umount2) usleep(100'000);
      return SystemCalls::call(number, a, b, c, d, e, f);
    }
  };
  const LateUnmount late;
  auto started = start_broker(late, Token{}, {.defer = detach::Defer::kAlways});
  ASSERT_TRUE(started) << started.error().doing;
  Client client(*started);
  const UniqueFd target = open_path("target");
  ASSERT_TRUE(client.greet());
  EXPECT_EQ(client.ask(target.get(), space_.get(), root_.get()), Outcome::kDetached);
  EXPECT_FALSE(is_mounted("target"));
}

TEST_F(ExecHostile, WithoutTheSecretNothingIsHeardOrSaid) {
  Token guess = token_;
  guess.client_secret[3] ^= 1;
  Client client(guess);
  EXPECT_FALSE(client.greet());
  EXPECT_TRUE(client.is_closed());
  Client silent(token_);
  const UniqueFd target = open_path("target");
  EXPECT_EQ(silent.ask(target.get(), space_.get(), root_.get()), Outcome::kPlain);
  EXPECT_TRUE(is_mounted("target"));
  EXPECT_TRUE(still_serves());
}

TEST_F(ExecHostile, AnotherUserIsNotHeard) {
  if (!test::initial_user_namespace()) GTEST_SKIP() << "needs root: to become somebody else";
  const pid_t child = fork();
  if (child == 0) {
    if (setgroups(0, nullptr) != 0 || setgid(65534) != 0 || setuid(65534) != 0) _exit(3);
    Client client(token_);
    _exit(client.greet() ? 1 : 0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

// The connection was made with privileges, the request comes without.
TEST_F(ExecHostile, AClientThatHasDroppedItsPrivilegesIsRefused) {
  if (!test::initial_user_namespace()) GTEST_SKIP() << "needs root: to become somebody else";
  Client client(token_);
  ASSERT_TRUE(client.greet());
  const pid_t child = fork();
  if (child == 0) {
    const UniqueFd target = open_path("target");
    if (setgroups(0, nullptr) != 0 || setgid(65534) != 0 || setuid(65534) != 0) _exit(3);
    const bool could = umount2("target", MNT_DETACH) == 0;
    _exit(!could && client.ask(target.get(), space_.get(), root_.get()) == Outcome::kPlain ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(is_mounted("target"));
}

TEST_F(ExecHostile, ANamespaceThatIsNotTheClientsIsRefused) {
  test::Child other([](const std::function<void()>& ready) {
    if (unshare(CLONE_NEWNS) != 0) return 1;
    ready();
    pause();
    return 0;
  });
  ASSERT_TRUE(other.ready());
  const std::string proc = "/proc/" + std::to_string(other.pid());
  const UniqueFd theirs(open((proc + "/ns/mnt").c_str(), O_RDONLY | O_CLOEXEC));
  const UniqueFd target = open_path((proc + "/root" + test::here() + "/target").c_str());
  ASSERT_TRUE(theirs && target);
  Client client(token_);
  ASSERT_TRUE(client.greet());
  EXPECT_EQ(client.ask(target.get(), theirs.get(), root_.get()), Outcome::kPlain);
  struct ::statx facts{};
  ASSERT_EQ(calls.statx(target.get(), "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID, &facts), 0);
  const std::string table = test::shell("cat " + proc + "/mountinfo").out;
  EXPECT_NE(table.find(std::to_string(facts.stx_mnt_id) + " "), std::string::npos) << "it is still mounted there";
  EXPECT_TRUE(still_serves());
}

TEST_F(ExecHostile, WrongDescriptorsAreRefused) {
  Client client(token_);
  ASSERT_TRUE(client.greet());
  const UniqueFd target = open_path("target");
  const UniqueFd readable(open("target", O_RDONLY | O_CLOEXEC));
  const UniqueFd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const UniqueFd network(open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(client.ask(readable.get(), space_.get(), root_.get()), Outcome::kPlain);
  EXPECT_EQ(client.ask(target.get(), network.get(), root_.get()), Outcome::kPlain);
  EXPECT_EQ(client.ask(target.get(), null.get(), root_.get()), Outcome::kPlain);
  EXPECT_EQ(client.ask(target.get(), space_.get(), null.get()), Outcome::kPlain);
  EXPECT_EQ(client.ask(root_.get(), null.get(), null.get()), Outcome::kPlain);
  Message message;
  message.kind = MessageKind::kDetach;
  for (const std::vector<int>& some :
       {std::vector<int>{}, {null.get()}, std::vector<int>(4, null.get()), std::vector<int>(8, target.get())})
    EXPECT_TRUE(client.send(message, some));
  EXPECT_TRUE(is_mounted("target"));
  EXPECT_TRUE(still_serves());
}

TEST_F(ExecHostile, AMountThatHasBeenCoveredIsLeftAlone) {
  const UniqueFd target = open_path("target");
  ASSERT_EQ(mount("cover", "target", "tmpfs", 0, nullptr), 0);
  Client client(token_);
  ASSERT_TRUE(client.greet());
  EXPECT_EQ(client.ask(target.get(), space_.get(), root_.get()), Outcome::kPlain);
  EXPECT_EQ(umount2("target", MNT_DETACH), 0);
  EXPECT_TRUE(is_mounted("target")) << "both were there";
}

TEST_F(ExecHostile, GarbageAndClosedSocketsEndOnlyTheConnection) {
  {
    Client client(token_);
    ASSERT_TRUE(client.greet());
    Message garbage;
    garbage.magic = 1;
    EXPECT_TRUE(client.send(garbage, {}));
    EXPECT_TRUE(client.is_closed());
  }
  for (int i = 0; i < 50; ++i) {
    Client client(token_);
    ASSERT_TRUE(client.greet());
    const UniqueFd target = open_path("target");
    std::array<int, 2> ends{};
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
    const UniqueFd there(ends[1]);
    close(ends[0]);
    Message message;
    message.kind = i % 2 == 0 ? MessageKind::kDetach : MessageKind::kLeftAlone;
    message.target[0] = '\n';
    client.send(message,
                i % 3 == 0 ? std::vector<int>{} : std::vector<int>{there.get(), root_.get(), root_.get(), root_.get()});
  }
  EXPECT_TRUE(is_mounted("target"));
  EXPECT_TRUE(still_serves());
}

TEST_F(ExecHostile, ManyConnectionsAndManyRequests) {
  std::vector<Client> clients;
  for (int i = 0; i < 300; ++i)
    clients.emplace_back(token_);
  for (Client& client : clients)
    ASSERT_TRUE(client.greet());
  const UniqueFd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
  for (int i = 0; i < test::times(10000); ++i)
    ASSERT_EQ(clients[static_cast<std::size_t>(i) % clients.size()].ask(null.get(), space_.get(), root_.get()),
              Outcome::kPlain);
  EXPECT_TRUE(still_serves());
}

// No room on a connection, and none for another connection: the program's plain call is made, and it waits for nobody.
TEST_F(ExecHostile, AFullSocketLeavesTheProgramToTheKernel) {
  ASSERT_TRUE(test::copy_umount());
  rlimit descriptors{};  // the broker's backlog may be longer than the usual 1024
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &descriptors), 0);
  descriptors.rlim_cur = descriptors.rlim_max;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &descriptors), 0);
  Client client(token_);
  ASSERT_TRUE(client.greet());
  const std::vector<pid_t> stopped = test::brokers();
  for (const pid_t broker : stopped)
    kill(broker, SIGSTOP);
  Message chatter;
  chatter.kind = MessageKind::kLeftAlone;
  int sent = 0;
  while (sent < 100'000 && client.send(chatter, {}))
    ++sent;
  EXPECT_GT(sent, 0);
  const UniqueFd target = open_path("target");
  EXPECT_EQ(client.ask(target.get(), space_.get(), root_.get()), Outcome::kPlain);

  std::vector<UniqueFd> waiting;
  const SocketName name(token_);
  for (;;) {
    UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket && errno == EMFILE) {
      for (const pid_t broker : stopped)
        kill(broker, SIGCONT);
      GTEST_SKIP() << "needs more descriptors than the broker's backlog is long";
    }
    ASSERT_TRUE(socket);
    if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&name.address()), name.size()) != 0) break;
    waiting.push_back(std::move(socket));
    ASSERT_LT(waiting.size(), 5000U);
  }
  char token[kTokenTextSize];
  write_token(token_, token);
  const std::string library = std::string(UNMOOR_PROGRAM, std::strrchr(UNMOOR_PROGRAM, '/')) + "/libunmoor-exec.so";
  const auto begin = std::chrono::steady_clock::now();
  const test::Ran ran = test::shell("LD_PRELOAD=" + library + " " + kTokenVariable + token + " ./umount -l target");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  EXPECT_EQ(ran.status, 0) << ran.out;
  EXPECT_FALSE(is_mounted("target"));

  for (const pid_t broker : stopped)
    kill(broker, SIGCONT);
  waiting.clear();
  EXPECT_TRUE(still_serves());
}

TEST_F(ExecHostile, ABrokerThatIsKilledLeavesTheProgramToTheKernel) {
  Client client(token_);
  ASSERT_TRUE(client.greet());
  const UniqueFd target = open_path("target");
  for (const pid_t broker : test::brokers())
    kill(broker, SIGKILL);
  EXPECT_EQ(client.ask(target.get(), space_.get(), root_.get()), Outcome::kPlain);
  EXPECT_TRUE(is_mounted("target"));
}

// The n-th call of launcher, broker and worker together fails: whoever asks gets an answer that is true, or none
// because the broker has ended, and can then do it himself.
TEST_F(ExecHostile, EveryCallFailsOnce) {
  for (const pid_t broker : test::brokers())
    kill(broker, SIGKILL);
  const bool all = test::times(10) == 10;
  for (const int code : all ? std::vector<int>{EPERM, ENOMEM, EINTR, EAGAIN} : std::vector<int>{EPERM, EINTR}) {
    for (int n = 1;; ++n) {
      const std::string what = "call " + std::to_string(n) + " fails with " + std::to_string(code);
      const test::SharedFailingCalls failing(n, code);
      auto started = start_broker(*failing, Token{}, {.defer = detach::Defer::kAlways});
      if (started) {
        if (!is_mounted("target")) {
          ASSERT_EQ(mount("t", "target", "tmpfs", 0, nullptr), 0);
        }
        Client client(*started);
        const UniqueFd target = open_path("target");
        const auto begin = std::chrono::steady_clock::now();
        const Outcome outcome = client.greet() ? client.ask(target.get(), space_.get(), root_.get()) : Outcome::kPlain;
        EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(900)) << what << ": no answer";
        if (outcome == Outcome::kDetached) {
          EXPECT_FALSE(is_mounted("target")) << what;
        } else {
          EXPECT_TRUE(umount2("target", MNT_DETACH) == 0 || errno == EINVAL) << what;
          EXPECT_FALSE(is_mounted("target")) << what;
        }
      }
      for (const pid_t broker : test::brokers())
        kill(broker, SIGKILL);
      if (failing->made() < n) break;
      ASSERT_LT(n, 1000);
    }
  }
  mount("t", "target", "tmpfs", 0, nullptr);  // for the end of the test
}

}  // namespace
}  // namespace unmoor::exec
