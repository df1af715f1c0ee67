// SPDX-License-Identifier: MIT
#include "exec/launch.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <linux/close_range.h>
#include <linux/futex.h>
#include <new>
#include <sched.h>
#include <sys/mman.h>
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

// How the broker came up, on a page that both processes see.
struct Launched {
  std::atomic<std::uint32_t> done{0};
  const char* step = "fork";  // a literal: the same address in parent and child
  int error = 0;

  void finish() {
    done.store(1, std::memory_order_release);
    syscall(SYS_futex, &done, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  }
};

// A descriptor table of our own with nothing in it but 0, 1, 2. The others are never copied, so nothing is closed and
// no filesystem is asked to flush anything: a file on a dead server cannot hold us up.
bool leave_descriptors(const SystemCalls& calls) {
  if (calls.call(SYS_close_range, 3, static_cast<long>(~0U), CLOSE_RANGE_UNSHARE) == 0) return true;
  if (calls.call(SYS_unshare, CLONE_FILES) != 0) return false;
  const long most = sysconf(_SC_OPEN_MAX);  // Linux before 5.9
  for (int fd = 3; fd < most; ++fd)
    static_cast<void>(calls.close(fd));
  return true;
}

class Child {
 public:
  Child(const SystemCalls& calls, const BrokerSetting& setting, const LaunchSetting& launch, Launched& outcome)
      : calls_(calls), setting_(setting), launch_(launch), outcome_(outcome) {}

  // `stay`: the launcher is pid 1, to whom the broker would come back as a visible child: it stays this hidden one.
  [[noreturn]] void run(bool stay) {
    Report report;
    UniqueFd listener = prepare(report);
    const bool ready = static_cast<bool>(listener);
    if (ready && !stay) {
      const pid_t broker = ::fork();
      if (broker < 0) note("fork", -errno);
      if (broker != 0) {
        outcome_.finish();
        std::_Exit(0);
      }
    } else {
      outcome_.finish();
    }
    if (ready) run_broker(calls_, setting_, std::move(listener), std::move(report));
    std::_Exit(0);
  }

 private:
  bool note(const char* step, long result) {
    if (result >= 0) return true;
    outcome_.step = step;
    outcome_.error = static_cast<int>(-result);
    return false;
  }

  bool take_null() {
    const UniqueFd null(static_cast<int>(calls_.open("/dev/null", O_RDWR)));
    if (!note("open /dev/null", null ? 0 : -ENOENT)) return false;
    for (int fd = 0; fd < 3; ++fd)
      if (!note("dup2", calls_.call(SYS_dup3, null.get(), fd, 0))) return false;
    return true;
  }

  UniqueFd prepare(Report& report) {
    if (!leave_descriptors(calls_)) return note("close_range", -EINVAL), UniqueFd();
    if (launch_.report) {
      const long file = calls_.open(launch_.report->c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NOCTTY, 0666);
      if (!note("open the report", file)) return {};
      report = Report(UniqueFd(static_cast<int>(file)), launch_.format);
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
  Launched& outcome_;
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

  void* const page = mmap(nullptr, sizeof(Launched), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return fail(errno, "mmap");
  auto* const outcome = new (page) Launched;
  const auto self = static_cast<pid_t>(calls.call(SYS_getpid));
  const BrokerSetting broker{token, setting.defer, self};
  const NoReaper no_reaper;
  // Exit signal 0: the program that this process becomes neither gets a SIGCHLD for it nor sees it in wait(2).
  const long child = calls.call(SYS_clone, CLONE_FILES, 0, 0, 0, 0);
  if (child == 0) Child(calls, broker, setting, *outcome).run(self == 1);
  if (child < 0) return fail_from(child, "clone");
  while (outcome->done.load(std::memory_order_acquire) == 0) {
    const timespec patience{0, 50'000'000};
    static_cast<void>(
        calls.call(SYS_futex, SystemCalls::pointer(&outcome->done), FUTEX_WAIT, 0, SystemCalls::pointer(&patience)));
    if (outcome->done.load(std::memory_order_acquire) == 0 && calls.call(SYS_kill, child, 0) != 0) break;
    if (outcome->done.load(std::memory_order_acquire) == 0 &&
        calls.call(SYS_wait4, child, 0, WNOHANG | __WALL, 0) == child)
      return fail(EINTR, "start the broker");
  }
  if (self != 1) static_cast<void>(calls.call(SYS_wait4, child, 0, __WALL, 0));
  const int error = outcome->error;
  const char* const step = outcome->step;
  munmap(page, sizeof(Launched));
  if (error != 0) return fail(error, step);
  return token;
}

}  // namespace unmoor::exec
