// SPDX-License-Identifier: MIT
#include "exec/launch.h"

#include <cstdlib>
#include <cstring>
#include <linux/close_range.h>
#include <memory>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exec/broker.h"
#include "exec/socket_name.h"
#include "kernel/namespaces.h"

namespace unmoor::exec {
namespace {

using kernel::SystemCalls;
using kernel::UniqueFd;

constexpr int kBacklog = 1024;

// The child's stack, and the broker's, which has a copy of it. Only what is used of it is ever there.
constexpr std::size_t kStackSize = 256 << 10;

// A descriptor table of our own with nothing in it but 0, 1, 2. The others are never copied, so nothing is closed and
// no filesystem is asked to flush anything: a file on a dead server cannot hold us up.
bool leave_descriptors(const SystemCalls& calls) {
  if (calls.call(SYS_close_range, 3, long{~0U}, CLOSE_RANGE_UNSHARE) == 0) return true;
  if (calls.call(SYS_unshare, CLONE_FILES) != 0) return false;
  const long most = sysconf(_SC_OPEN_MAX);  // Linux before 5.9
  for (int fd = 3; fd < most; ++fd)
    static_cast<void>(calls.close(fd));
  return true;
}

// Prepares everything in the launcher's memory, while the launcher stands still, and makes the broker with the one copy
// of the page tables that it takes.
class Child {
 public:
  Child(const SystemCalls& calls, const BrokerSetting& setting, const LaunchSetting& launch)
      : calls_(calls), setting_(setting), launch_(launch) {}

  static int run(void* self) {
    static_cast<Child*>(self)->make_broker();
    return 0;
  }

  // What failed; EINTR as long as nothing is known, because the child was killed.
  [[nodiscard]] int error() const { return error_; }
  [[nodiscard]] const char* step() const { return step_; }

 private:
  void make_broker() {
    Report report;
    UniqueFd listener = prepare(report);
    if (!listener) return;
    // An orphan goes to init. To a launcher that is init it would come back as a visible child; as a second child of
    // the launcher it inherits the exit signal of this one, which is none, and stays hidden.
    const long flags = setting_.program == 1 ? CLONE_PARENT : 0;
    const long broker = calls_.call(SYS_clone, flags, 0, 0, 0, 0);
    if (broker == 0) {
      run_broker(calls_, setting_, std::move(listener), std::move(report));
      std::_Exit(0);
    }
    if (note("clone", broker)) error_ = 0;
  }

  bool note(const char* step, long result) {
    if (result >= 0) return true;
    step_ = step;
    error_ = static_cast<int>(-result);
    return false;
  }

  bool take_null() {
    // The launcher may have started with some of the three closed: then it is one of them itself.
    UniqueFd null(static_cast<int>(calls_.open("/dev/null", O_RDWR)));
    if (!note("open /dev/null", null ? 0 : -ENOENT)) return false;
    for (int fd = 0; fd < 3; ++fd)
      if (fd != null.get() && !note("dup3", calls_.call(SYS_dup3, null.get(), fd, 0))) return false;
    if (null.get() < 3) static_cast<void>(null.release());
    return true;
  }

  UniqueFd prepare(Report& report) {
    if (!leave_descriptors(calls_)) return note("close_range", -EINVAL), UniqueFd();
    if (launch_.report) {
      // While 0, 1, 2 are still the launcher's: it may be one of them by name, and must not become one of them.
      // Non-blocking: nobody waits for a FIFO's reader.
      const UniqueFd file(static_cast<int>(
          calls_.open(launch_.report->c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NOCTTY | O_NONBLOCK, 0666)));
      const long above = file ? calls_.call(SYS_fcntl, file.get(), F_DUPFD_CLOEXEC, 3) : file.get();
      if (!note("open the report", above)) return {};
      report = Report(UniqueFd(static_cast<int>(above)), launch_.format);
    }
    if (!take_null()) return {};
    static_cast<void>(calls_.call(SYS_setsid));
    if (!note("chdir", calls_.call(SYS_chdir, SystemCalls::pointer("/")))) return {};
    static_cast<void>(prctl(PR_SET_NAME, "unmoor-broker"));
    const long socket = calls_.call(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (!note("socket", socket)) return {};
    UniqueFd listener(static_cast<int>(socket));
    const SocketName name(setting_.token);
    if (!note("bind", calls_.call(SYS_bind, listener.get(), SystemCalls::pointer(&name.address()),
                                  static_cast<long>(name.size()))) ||
        !note("listen", calls_.call(SYS_listen, listener.get(), kBacklog)))
      return {};
    return listener;
  }

  const SystemCalls& calls_;
  const BrokerSetting& setting_;
  const LaunchSetting& launch_;
  int error_ = EINTR;
  const char* step_ = "start the broker";
};

// While it lasts, orphans go past this process to its own reaper.
class NoReaper {
 public:
  NoReaper() {
    if (prctl(PR_GET_CHILD_SUBREAPER, &was_) == 0 && was_ != 0) prctl(PR_SET_CHILD_SUBREAPER, 0);
  }
  NoReaper(const NoReaper&) = delete;
  NoReaper& operator=(const NoReaper&) = delete;
  ~NoReaper() {
    if (was_ != 0) prctl(PR_SET_CHILD_SUBREAPER, 1);
  }

 private:
  int was_ = 0;
};

}  // namespace

Result<Token> start_broker(const SystemCalls& calls, Token token, const LaunchSetting& setting) {
  // The broker outlives the program by a moment; a cgroup of the program's own could not be removed meanwhile.
  if (setting.defer != detach::Defer::kAlways && !kernel::in_parents_cgroup(calls) && !kernel::in_root_cgroup(calls))
    return fail(EBUSY, "the broker would hold the program's cgroup");
  std::uint8_t secrets[3][kSecretSize];
  if (calls.call(SYS_getrandom, SystemCalls::pointer(secrets), sizeof secrets, 0) != sizeof secrets)
    return fail(EIO, "getrandom");
  std::memcpy(token.name, secrets[0], kSecretSize);
  std::memcpy(token.client_secret, secrets[1], kSecretSize);
  std::memcpy(token.broker_secret, secrets[2], kSecretSize);
  token.report = setting.report ? 1 : 0;

  const BrokerSetting broker{token, setting.defer, static_cast<pid_t>(calls.call(SYS_getpid))};
  const auto stack = std::make_unique_for_overwrite<std::byte[]>(kStackSize);
  Child starter(calls, broker, setting);
  const NoReaper no_reaper;
  // Exit signal 0: the program that this process becomes neither gets a SIGCHLD for it nor sees it in wait(2).
  const long child =
      calls.clone_sharing_memory(Child::run, stack.get() + kStackSize, CLONE_VFORK | CLONE_FILES, &starter);
  if (child < 0) return fail_from(child, "clone");
  static_cast<void>(calls.call(SYS_wait4, child, 0, __WALL, 0));
  if (starter.error() != 0) return fail(starter.error(), starter.step());
  return token;
}

}  // namespace unmoor::exec
