// SPDX-License-Identifier: MIT
#include "exec/broker.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <vector>

#include "exec/client_rights.h"
#include "exec/descriptor_passing.h"
#include "exec/keeper.h"
#include "exec/outside.h"
#include "exec/worker.h"

namespace unmoor::exec {
namespace {

using kernel::MountTable;
using kernel::SystemCalls;
using kernel::UniqueFd;

constexpr std::size_t kMostConnections = 1024;
constexpr std::size_t kMostWorkers = 64;
constexpr int kSoPassPidfd = 76;  // SO_PASSPIDFD, Linux 6.5

struct Connection {
  UniqueFd fd;
  pid_t pid = 0;
  bool greeted = false;
  bool busy = false;  // a worker is reading it
};

// A worker and the request it serves.
struct Work {
  UniqueFd channel;
  int connection = -1;  // the descriptor it reads, until it has taken the request
  std::string target;
  UniqueFd reply;  // from kStarted until the client is answered
  UniqueFd table;
  UniqueFd space;
  int mount = 0;
  pid_t client = 0;
  bool may_keep = false;
  std::uint64_t outside = 0;  // Outside::version() that the worker judged by
  std::vector<kernel::DeviceNumber> must_stay;
  bool ended = false;
};

class Broker {
 public:
  Broker(const SystemCalls& calls, const BrokerSetting& setting, const Identity& self, UniqueFd listener,
         const Report& report)
      : calls_(calls),
        setting_(setting),
        self_(self),
        outside_(Outside::open(calls, self)),
        listener_(std::move(listener)),
        report_(report),
        keeper_(calls, outside_, setting.defer, report) {
    watch(setting.program);
  }

  void run() {
    if (!outside_.may_be_held(setting_.defer)) {
      report_.write({.what = "none", .why = "the broker would hold a private mount namespace whose filesystems count"});
      return;
    }
    while (!idle())
      step();
  }

 private:
  [[nodiscard]] bool idle() const {
    const bool clients = std::ranges::any_of(connections_, &Connection::greeted);
    return !clients && watched_.empty() && works_.empty() && keeper_.empty();
  }

  void watch(pid_t pid) {
    if (pid <= 0) return;
    UniqueFd fd(static_cast<int>(calls_.call(SYS_pidfd_open, pid, 0)));
    if (fd) watched_.push_back(std::move(fd));
  }

  void step() {
    std::vector<pollfd> waiting;
    waiting.push_back({works_.size() < kMostWorkers ? listener_.get() : -1, POLLIN, 0});
    for (const UniqueFd& event : outside_.events())
      waiting.push_back({event.get(), POLLPRI, 0});
    const std::size_t outside = outside_.events().size();
    for (const Connection& connection : connections_)
      waiting.push_back({connection.busy || works_.size() >= kMostWorkers ? -1 : connection.fd.get(), POLLIN, 0});
    for (const UniqueFd& process : watched_)
      waiting.push_back({process.get(), POLLIN, 0});
    for (const Work& work : works_) {
      waiting.push_back({work.channel.get(), POLLIN, 0});
      waiting.push_back({work.reply ? work.table.get() : -1, POLLPRI, 0});
    }
    keeper_.add_to(waiting);
    if (calls_.call(SYS_ppoll, SystemCalls::pointer(waiting.data()), static_cast<long>(waiting.size()), 0, 0, 0) < 0)
      return;

    // Each handler sees the entries made above for the containers as they were then.
    const pollfd* event = waiting.data();
    const bool knocked = event++->revents != 0;
    bool changed = false;
    for (std::size_t i = 0; i < outside; ++i)
      changed |= (event++->revents & POLLPRI) != 0;
    const pollfd* const connections = event;
    event += connections_.size();
    const pollfd* const processes = event;
    event += watched_.size();
    const pollfd* const works = event;
    event += 2 * works_.size();
    if (changed) outside_.read_again();  // first: the others go by it
    keeper_.handle(event);
    handle_works(works);
    handle_processes(processes);
    handle_connections(connections);
    if (knocked) accept();
    if (outside_.version() != looked_at_) look_outside();  // whoever it was that had it read again
  }

  void look_outside() {
    looked_at_ = outside_.version();
    keeper_.look_again();
    if (!outside_.may_be_held(setting_.defer)) {
      report_.write({.what = "ends", .why = "a filesystem was mounted here that must not be held"});
      std::_Exit(0);
    }
  }

  void accept() {
    for (;;) {
      UniqueFd fd(static_cast<int>(calls_.call(SYS_accept4, listener_.get(), 0, 0, SOCK_CLOEXEC | SOCK_NONBLOCK)));
      if (!fd) return;
      ucred peer{};
      socklen_t size = sizeof peer;
      const int on = 1;
      const auto option = [&](int name) {
        return calls_.call(SYS_setsockopt, fd.get(), SOL_SOCKET, name, SystemCalls::pointer(&on), sizeof on);
      };
      // Anybody in this network namespace can reach an abstract address; only our own user is heard.
      if (connections_.size() >= kMostConnections || option(SO_PASSCRED) != 0 ||
          calls_.call(SYS_getsockopt, fd.get(), SOL_SOCKET, SO_PEERCRED, SystemCalls::pointer(&peer),
                      SystemCalls::pointer(&size)) != 0 ||
          peer.uid != self_.uid)
        continue;
      static_cast<void>(option(kSoPassPidfd));
      connections_.push_back({std::move(fd), peer.pid, false, false});
      // Its hello is there already: connect(2) and send(2) come right after each other.
      if (!hear(connections_.back())) connections_.pop_back();
    }
  }

  void handle_connections(const pollfd* events) {
    // New ones are added behind those that were polled; workers change nothing in the list.
    const std::size_t polled = connections_.size();
    std::vector<bool> gone(polled, false);
    for (std::size_t i = 0; i < polled; ++i)
      if (events[i].revents != 0) gone[i] = !hear(connections_[i]);
    std::size_t i = 0;
    std::erase_if(connections_, [&](const Connection&) { return gone[i++]; });
  }

  // Reads what is there; false when the connection is over.
  bool hear(Connection& connection) {
    for (;;) {
      Message message;
      const auto peeked = receive_text(calls_, connection.fd.get(), &message, sizeof message, MSG_PEEK | MSG_TRUNC);
      if (!peeked) return peeked.error().code == EAGAIN || peeked.error().code == EINTR;
      if (*peeked != sizeof message || message.magic != kMagic) return false;
      if (connection.greeted && message.kind == MessageKind::kDetach) {
        if (works_.size() < kMostWorkers && start_work(connection)) return true;
        return works_.size() >= kMostWorkers;  // no process could be started: the client makes the plain call
      }
      if (!receive_text(calls_, connection.fd.get(), &message, sizeof message, 0)) return false;
      if (message.kind == MessageKind::kHello && !connection.greeted) {
        if (!greet(connection, message)) return false;
      } else if (message.kind == MessageKind::kLeftAlone && connection.greeted) {
        message.target[sizeof message.target - 1] = '\0';
        message.why[sizeof message.why - 1] = '\0';
        report_.write({.what = "plain",
                       .target = message.target,
                       .why = message.why,
                       .nanoseconds = message.nanoseconds,
                       .error = message.result,
                       .pid = connection.pid});
      } else {
        return false;
      }
    }
  }

  bool greet(Connection& connection, const Message& hello) {
    if (std::memcmp(hello.secret, setting_.token.client_secret, kSecretSize) != 0) return false;
    // One that does not stay connected is a program that cannot unmount; its children may.
    watch(connection.pid);
    connection.greeted = true;
    return send_message(calls_, connection.fd.get(), setting_.token.broker_secret, kSecretSize).has_value();
  }

  bool start_work(Connection& connection) {
    std::array<int, 2> ends{-1, -1};
    if (calls_.call(SYS_socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
                    SystemCalls::pointer(ends.data())) != 0)
      return false;
    UniqueFd here(ends[0]);
    UniqueFd there(ends[1]);
    outside_.refresh();
    const pid_t worker = ::fork();
    if (worker < 0) return false;
    if (worker == 0) {
      here.reset();
      listener_.reset();
      keeper_.forget();
      works_.clear();
      serve({calls_, self_, outside_, setting_.defer}, connection.fd.get(), there.get());
      std::_Exit(0);
    }
    connection.busy = true;
    Work work;
    work.channel = std::move(here);
    work.connection = connection.fd.get();
    work.outside = outside_.version();
    works_.push_back(std::move(work));
    return true;
  }

  void handle_processes(const pollfd* events) {
    std::size_t i = 0;
    std::erase_if(watched_, [&](const UniqueFd&) { return events[i++].revents != 0; });
  }

  void handle_works(const pollfd* events) {
    for (std::size_t i = 0; i < works_.size(); ++i) {
      Work& work = works_[i];
      if (events[2 * i].revents != 0) hear(work);
      if (work.reply && events[2 * i + 1].revents != 0) look(work);
    }
    std::erase_if(works_, &Work::ended);
  }

  void hear(Work& work) {
    for (;;) {
      WorkerMessage message;
      auto received = receive_message(calls_, work.channel.get(), &message, sizeof message);
      if (!received && (received.error().code == EAGAIN || received.error().code == EINTR)) return;
      if (!received || received->size != sizeof message) {
        // The worker has ended, or was killed before it could say how it went: the client's plain call finds out.
        release(work);
        if (work.reply && !look(work)) answer(work, Outcome::kPlain);
        work.ended = true;
        return;
      }
      take(work, message, received->descriptors);
    }
  }

  void release(Work& work) {
    for (Connection& connection : connections_)
      if (connection.fd.get() == work.connection) connection.busy = false;
    work.connection = -1;
  }

  void take(Work& work, const WorkerMessage& message, std::vector<UniqueFd>& descriptors) {
    switch (message.kind) {
      case WorkerMessage::Kind::kTaken:
        work.target = message.target;
        release(work);
        return;
      case WorkerMessage::Kind::kRefused:
        report_.write(
            {.what = "plain",
             .target = work.target,
             .why = message.why[0] != '\0' ? std::string_view(message.why) : detach::reason_text(message.reason),
             .error = message.error});
        return;
      case WorkerMessage::Kind::kStarted:
        if (descriptors.size() != kStartedDescriptors) return;
        work.reply = std::move(descriptors[kStartedReply]);
        work.table = std::move(descriptors[kStartedTable]);
        if (message.may_keep) work.space = std::move(descriptors[kStartedNamespace]);
        work.mount = message.mount;
        work.client = message.client;
        work.may_keep = message.may_keep;
        work.must_stay.assign(message.must_stay,
                              message.must_stay + std::min<std::size_t>(message.staying, kMostStaying));
        look(work);
        return;
      case WorkerMessage::Kind::kFinished:
        report_.write({.what = work.reply ? "finished" : "deferred",
                       .target = work.target,
                       .nanoseconds = message.nanoseconds,
                       .error = message.error,
                       .pid = work.client});
        if (work.reply) answer(work, message.error == 0 ? Outcome::kDetached : Outcome::kPlain);
        return;
    }
  }

  // Is the mount gone from the table? Then the client may go on; true if it was told so.
  bool look(Work& work) {
    const auto table = MountTable::read_again(calls_, work.table.get());
    if (!table || table->by_id(work.mount) != nullptr) return false;
    if (!work.must_stay.empty()) {
      // Somebody may have unmounted the other one meanwhile: then the client waits until this one is gone.
      outside_.refresh();
      if (!still_mounted(work.must_stay, outside_.tables())) return false;
    }
    answer(work, Outcome::kDetached);
    return true;
  }

  void answer(Work& work, Outcome outcome) {
    Reply reply{.outcome = outcome};
    const bool keeping = outcome == Outcome::kDetached && work.may_keep && keep(work);
    if (keeping) reply.ticket = Ticket::kKeep;
    static_cast<void>(send_message(calls_, work.reply.get(), &reply, sizeof reply));
    work.reply.reset();
  }

  bool keep(Work& work) {
    Kept kept;
    struct ::statx facts{};
    if (calls_.statx(work.space.get(), "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, &facts) != 0) return false;
    kept.inode = facts.stx_ino;
    kept.space = std::move(work.space);
    kept.table.reset(static_cast<int>(calls_.call(SYS_fcntl, work.table.get(), F_DUPFD_CLOEXEC, 0)));
    kept.ticket.reset(static_cast<int>(calls_.call(SYS_fcntl, work.reply.get(), F_DUPFD_CLOEXEC, 0)));
    kept.pid = work.client;
    kept.process.reset(static_cast<int>(calls_.call(SYS_pidfd_open, work.client, 0)));
    outside_.refresh();
    if (work.outside != outside_.version() && !keeper_.may_stay(kept)) return false;
    return keeper_.keep(std::move(kept));
  }

  const SystemCalls& calls_;
  const BrokerSetting& setting_;
  const Identity& self_;
  Outside outside_;
  std::uint64_t looked_at_ = outside_.version();
  UniqueFd listener_;
  const Report& report_;
  Keeper keeper_;
  std::vector<Connection> connections_;
  std::vector<UniqueFd> watched_;  // pidfds
  std::vector<Work> works_;
};

}  // namespace

void run_broker(const SystemCalls& calls, const BrokerSetting& setting, UniqueFd listener, Report report) {
  // Children are reaped by the kernel; a client that hangs up must not kill us.
  static_cast<void>(std::signal(SIGCHLD, SIG_IGN));
  static_cast<void>(std::signal(SIGPIPE, SIG_IGN));
  auto self = Identity::of_this_process(calls);
  if (!self) return;
  Broker(calls, setting, *self, std::move(listener), report).run();
}

}  // namespace unmoor::exec
