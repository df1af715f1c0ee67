// SPDX-License-Identifier: MIT
#include "cli/tree/kernel_worker.h"

#include <array>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sched.h>
#include <string>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <unordered_map>

namespace unmoor::cli::tree {
namespace {

// Numbers and flags younger than the headers this may be built with (move_mount(2), mount_setattr(2)).
constexpr long kSysMountSetattr = 442;
constexpr unsigned kMoveMountSetGroup = 0x100;
constexpr unsigned kMoveMountBeneath = 0x200;
constexpr unsigned kAtRecursive = 0x8000;

// MS_REC, or nothing: glibc has the flags as an enum that cannot be mixed with 0.
unsigned long recursion(const Request& request) {
  return request.recursive ? static_cast<unsigned long>(MS_REC) : 0UL;
}

struct MountAttr {  // struct mount_attr
  std::uint64_t set;
  std::uint64_t clear;
  std::uint64_t propagation;
  std::uint64_t userns_fd;
};

constexpr std::size_t kMessageSize = sizeof(Request) + 2 * 8192;

using Sockets = std::array<kernel::UniqueFd, 2>;

int answer(long result) {
  return result < 0 ? errno : 0;
}

int move_mount_with(const char* source, const char* target, unsigned flags) {
  return answer(::syscall(SYS_move_mount, AT_FDCWD, source, AT_FDCWD, target, flags));
}

int change_propagation(const Request& request, const char* target, unsigned long type) {
  return answer(::mount(nullptr, target, nullptr, type | recursion(request), nullptr));
}

// Every file descriptor that a Pin stands for.
class Pins {
 public:
  int pin(int number, const char* target) {
    const int fd = ::open(target, O_PATH | O_CLOEXEC);
    if (fd < 0) return errno;
    fds_[number] = kernel::UniqueFd(fd);
    return 0;
  }
  int unpin(int number) { return fds_.erase(number) == 1 ? 0 : EBADF; }
  void clear() { fds_.clear(); }

 private:
  std::unordered_map<int, kernel::UniqueFd> fds_;
};

int perform(const Request& request, const char* source, const char* target, Pins& pins) {
  switch (request.verb) {
    case Verb::kMakeDirectory:
      return answer(::mkdir(target, 0755));
    case Verb::kMakeFile:
      return answer(::mknod(target, S_IFREG | 0644, 0));
    case Verb::kMount:
      return answer(::mount(source, target, "tmpfs", 0, "mode=755"));
    case Verb::kBind:
      return answer(::mount(source, target, nullptr, MS_BIND | recursion(request), nullptr));
    case Verb::kMove:
      return answer(::mount(source, target, nullptr, MS_MOVE, nullptr));
    case Verb::kMoveBeneath:
      return move_mount_with(source, target, kMoveMountBeneath);
    case Verb::kSetGroup:
      return move_mount_with(source, target, kMoveMountSetGroup);
    case Verb::kShared:
      return change_propagation(request, target, MS_SHARED);
    case Verb::kSlave:
      return change_propagation(request, target, MS_SLAVE);
    case Verb::kPrivate:
      return change_propagation(request, target, MS_PRIVATE);
    case Verb::kUnbindable:
      return change_propagation(request, target, MS_UNBINDABLE);
    case Verb::kSetAttributes: {
      const MountAttr attributes{request.attributes.set, request.attributes.clear, 0, 0};
      return answer(::syscall(kSysMountSetattr, AT_FDCWD, target, request.recursive ? kAtRecursive : 0U, &attributes,
                              sizeof attributes));
    }
    case Verb::kUnmount:
      return answer(::umount2(target, request.umount_flags));
    case Verb::kPivotRoot:
      return answer(::syscall(SYS_pivot_root, source, target));
    case Verb::kPin:
      return pins.pin(request.pin, target);
    case Verb::kUnpin:
      return pins.unpin(request.pin);
    case Verb::kCopyNamespace:
    case Verb::kMountInfo:
      break;  // not done by perform()
  }
  return EINVAL;
}

bool write_text(int directory, const char* path, const std::string& text) {
  const kernel::UniqueFd fd(::openat(directory, path, O_WRONLY | O_CLOEXEC));
  return fd && ::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

// Mount namespace, and user namespace if asked for, in which the caller is root and nobody else exists. `proc` is a
// descriptor of /proc: after the first pivot_root there is none to open.
int unshare_as_root(int flags, int proc) {
  const std::string uid = "0 " + std::to_string(::geteuid()) + " 1";
  const std::string gid = "0 " + std::to_string(::getegid()) + " 1";
  if (::unshare(flags) != 0) return errno;
  if ((flags & CLONE_NEWUSER) == 0) return 0;
  const bool written = write_text(proc, "self/setgroups", "deny") && write_text(proc, "self/uid_map", uid) &&
                       write_text(proc, "self/gid_map", gid);
  return written ? 0 : errno;
}

[[noreturn]] void serve(kernel::UniqueFd socket, kernel::UniqueFd proc);

// The new worker is a sibling (CLONE_PARENT), so that whoever started the first one reaps them all.
Reply copy_namespace(const Request& request, kernel::UniqueFd socket, kernel::UniqueFd& proc, Pins& pins) {
  const long pid = ::syscall(SYS_clone, CLONE_PARENT | SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  if (pid != 0) return {answer(pid), static_cast<std::int32_t>(pid)};
  pins.clear();
  const int flags = CLONE_NEWNS | (request.less_privileged ? CLONE_NEWUSER : 0);
  const Reply reply{unshare_as_root(flags, proc.get()), 0};
  if (::send(socket.get(), &reply, sizeof reply, MSG_NOSIGNAL) != sizeof reply || reply.code != 0) ::_exit(1);
  serve(std::move(socket), std::move(proc));
}

struct Message {
  alignas(8) std::array<char, kMessageSize> bytes;
  ssize_t size = 0;
  kernel::UniqueFd passed;  // the socket of a worker to be
};

bool receive(int socket, Message& message) {
  iovec part{message.bytes.data(), message.bytes.size() - 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control;
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  do {
    message.size = ::recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
  } while (message.size < 0 && errno == EINTR);
  const cmsghdr* const carried = CMSG_FIRSTHDR(&header);
  if (carried != nullptr && carried->cmsg_type == SCM_RIGHTS) {
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(carried), sizeof fd);
    message.passed.reset(fd);
  }
  if (message.size < static_cast<ssize_t>(sizeof(Request))) return false;
  message.bytes[static_cast<std::size_t>(message.size)] = '\0';
  return true;
}

void serve(kernel::UniqueFd socket, kernel::UniqueFd proc) {
  Pins pins;
  Message message;
  while (receive(socket.get(), message)) {
    Request request;
    std::memcpy(&request, message.bytes.data(), sizeof request);
    const char* const source = message.bytes.data() + sizeof request;
    const char* const target = source + std::strlen(source) + 1;
    const Reply reply = request.verb == Verb::kCopyNamespace
                            ? copy_namespace(request, std::move(message.passed), proc, pins)
                            : Reply{perform(request, source, target, pins), 0};
    if (::send(socket.get(), &reply, sizeof reply, MSG_NOSIGNAL) != sizeof reply) break;
  }
  ::_exit(0);
}

Result<Sockets> make_sockets() {
  std::array<int, 2> fds{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds.data()) != 0) return fail(errno, "socketpair");
  return Sockets{kernel::UniqueFd(fds[0]), kernel::UniqueFd(fds[1])};
}

Result<Reply> receive_reply(int socket) {
  Reply reply{};
  ssize_t got = 0;
  do {
    got = ::recv(socket, &reply, sizeof reply, 0);
  } while (got < 0 && errno == EINTR);
  if (got != sizeof reply) return fail(got < 0 ? errno : EPIPE, "recv", "worker");
  return reply;
}

// Into a private namespace whose root is a fresh tmpfs, with everything else out of reach. Returns an errno.
int enter_fresh_namespace(int proc) {
  int code = unshare_as_root(CLONE_NEWNS, proc);
  if (code == EPERM) code = unshare_as_root(CLONE_NEWNS | CLONE_NEWUSER, proc);
  if (code != 0) return code;
  const bool entered = ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                       ::mount("root", "/tmp", "tmpfs", 0, "mode=755") == 0 && ::chdir("/tmp") == 0 &&
                       ::syscall(SYS_pivot_root, ".", ".") == 0 && ::umount2(".", MNT_DETACH) == 0 && ::chdir("/") == 0;
  return entered ? 0 : errno;
}

}  // namespace

Result<Worker> start_first_worker() {
  Result<Sockets> sockets = make_sockets();
  if (!sockets) return std::unexpected(sockets.error());
  const pid_t starter = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return fail(errno, "fork");
  if (pid == 0) {
    (*sockets)[0].reset();
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != starter) ::_exit(1);
    kernel::UniqueFd proc(::open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC));
    const Reply ready{enter_fresh_namespace(proc.get()), 0};
    if (::send((*sockets)[1].get(), &ready, sizeof ready, MSG_NOSIGNAL) != sizeof ready || ready.code != 0) ::_exit(1);
    serve(std::move((*sockets)[1]), std::move(proc));
  }
  (*sockets)[1].reset();
  Worker worker{std::move((*sockets)[0]), pid};
  const Result<Reply> ready = receive_reply(worker.socket.get());
  if (ready && ready->code == 0) return worker;
  worker.socket.reset();
  ::waitpid(pid, nullptr, 0);
  if (!ready) return std::unexpected(ready.error());
  return fail(ready->code, "enter", "a private mount namespace");
}

Result<int> ask(Worker& worker, const Request& request, const char* source, const char* target, Worker* copied) {
  const std::size_t source_size = std::strlen(source) + 1;
  const std::size_t target_size = std::strlen(target) + 1;
  if (source_size > 8192 || target_size > 8191) return ENAMETOOLONG;  // longer than any path the kernel takes
  std::array<iovec, 3> parts{iovec{const_cast<Request*>(&request), sizeof request},
                             iovec{const_cast<char*>(source), source_size},
                             iovec{const_cast<char*>(target), target_size}};
  msghdr header{};
  header.msg_iov = parts.data();
  header.msg_iovlen = parts.size();
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  Sockets sockets;
  if (copied != nullptr) {
    Result<Sockets> made = make_sockets();
    if (!made) return std::unexpected(made.error());
    sockets = std::move(*made);
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    cmsghdr* const carried = CMSG_FIRSTHDR(&header);
    carried->cmsg_level = SOL_SOCKET;
    carried->cmsg_type = SCM_RIGHTS;
    carried->cmsg_len = CMSG_LEN(sizeof(int));
    const int fd = sockets[1].get();
    std::memcpy(CMSG_DATA(carried), &fd, sizeof fd);
  }
  if (::sendmsg(worker.socket.get(), &header, MSG_NOSIGNAL) < 0) return fail(errno, "sendmsg", "worker");
  sockets[1].reset();
  const Result<Reply> reply = receive_reply(worker.socket.get());
  if (!reply) return std::unexpected(reply.error());
  if (copied == nullptr || reply->code != 0) return reply->code;
  copied->pid = reply->pid;
  copied->socket = std::move(sockets[0]);
  const Result<Reply> unshared = receive_reply(copied->socket.get());
  if (!unshared) return std::unexpected(unshared.error());
  return unshared->code;
}

}  // namespace unmoor::cli::tree
