// SPDX-License-Identifier: MIT
#include "exec/shim/request.h"

#include <cstring>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "exec/raw_call.h"

namespace unmoor::exec::shim {
namespace {

constexpr unsigned long kPidfdGetMountNamespace = 0xff03;  // PIDFD_GET_MNT_NAMESPACE, Linux 6.11
constexpr unsigned kStatxMountIdUnique = 0x4000;           // STATX_MNT_ID_UNIQUE, Linux 6.8
constexpr long kSysStatmount = 457;

bool is_on(int fd, long magic) {
  struct ::statfs facts;
  return raw_call(SYS_fstatfs, fd, address(&facts)) == 0 && facts.f_type == magic;
}

// The namespace link below an O_PATH descriptor of a directory that ought to be /proc.
long link_in_proc(int proc) {
  if (proc < 0 || !is_on(proc, PROC_SUPER_MAGIC)) return -ENOENT;
  return raw_call(SYS_openat, proc, address("thread-self/ns/mnt"), O_RDONLY | O_CLOEXEC);
}

// This process's mount namespace. Inside a half-built container there may be no /proc yet, or one that the image made
// up: the kernel is asked first, then a real procfs, the container's or the one below the old root.
long own_mount_namespace(int target) {
  const RawFd self(raw_call(SYS_pidfd_open, raw_call(SYS_getpid), 0));
  if (self) {
    const long fd = raw_call(SYS_ioctl, self.get(), static_cast<long>(kPidfdGetMountNamespace), 0);
    if (fd >= 0) return fd;
  }
  const RawFd proc(raw_call(SYS_openat, AT_FDCWD, address("/proc"), O_PATH | O_CLOEXEC | O_DIRECTORY | O_NOFOLLOW));
  const long fd = link_in_proc(proc.get());
  if (fd >= 0) return fd;
  const RawFd below(raw_call(SYS_openat, target, address("proc"), O_PATH | O_CLOEXEC | O_DIRECTORY | O_NOFOLLOW));
  return link_in_proc(below.get());
}

// Only what a hung filesystem can answer: the mount id, and the inode that is in memory anyway. A kernel that has no
// unique ids gives the other kind.
bool look_at(int fd, struct ::statx& facts) {
  return raw_call(SYS_statx, fd, address(""), AT_EMPTY_PATH | AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, kStatxMountIdUnique,
                  address(&facts)) == 0;
}

// Waits for the answer; false when none came.
bool receive(int fd, Reply& reply) {
  pollfd waiting{fd, POLLIN, 0};
  timespec timeout{kReplyTimeoutMilliseconds / 1000, (kReplyTimeoutMilliseconds % 1000) * 1'000'000L};
  long ready;
  do
    ready = raw_call(SYS_ppoll, address(&waiting), 1, address(&timeout), 0, 0);  // Linux updates the timeout
  while (ready == -EINTR);
  return ready == 1 && raw_call(SYS_recvfrom, fd, address(&reply), sizeof reply, MSG_DONTWAIT, 0) == sizeof reply &&
         reply.magic == kMagic;
}

}  // namespace

bool is_detached(std::uint64_t mount) {
  struct {
    std::uint32_t size;
    std::uint32_t spare;
    std::uint64_t id;
    std::uint64_t parameter;
  } const request{sizeof request, 0, mount, 0};
  alignas(8) char answer[512];
  // An id that is not unique is out of statmount's range: EINVAL.
  return raw_call(kSysStatmount, address(&request), address(answer), sizeof answer, 0) == -ENOENT;
}

Origin Origin::of_root() {
  struct ::statx facts{};
  if (raw_call(SYS_statx, AT_FDCWD, address("/"), AT_STATX_DONT_SYNC, STATX_INO, address(&facts)) != 0) return {};
  return {facts.stx_dev_major, facts.stx_dev_minor, facts.stx_ino};
}

Asked ask_broker(Connection& connection, const Token& token, const Origin& origin, std::uint64_t last,
                 const char* target, int flags) {
  Asked asked;
  const int follow = (flags & UMOUNT_NOFOLLOW) != 0 ? O_NOFOLLOW : 0;
  const RawFd mount(raw_call(SYS_openat, AT_FDCWD, address(target), O_PATH | O_CLOEXEC | follow));
  struct ::statx facts{};
  if (!mount || !look_at(mount.get(), facts)) {
    asked.why = "the target cannot be opened";
    return asked;
  }
  asked.was_origin = facts.stx_dev_major == origin.device_major && facts.stx_dev_minor == origin.device_minor &&
                     facts.stx_ino == origin.inode;
  if ((facts.stx_attributes & STATX_ATTR_MOUNT_ROOT) == 0) {
    asked.why = "the target is not a mount point";
    return asked;
  }
  asked.mount = facts.stx_mnt_id;
  if (asked.mount == last) {
    asked.why = "the target is detached already";
    return asked;
  }
  if (!connection.trusted(token)) {
    asked.why = "the broker cannot be reached";
    return asked;
  }
  const RawFd space(own_mount_namespace(mount.get()));
  const RawFd root(raw_call(SYS_openat, AT_FDCWD, address("/"), O_PATH | O_CLOEXEC | O_DIRECTORY));
  int ends[2] = {-1, -1};
  if (!space || !root || raw_call(SYS_socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, address(ends)) != 0) {
    asked.why = "this process cannot name its mount namespace";
    return asked;
  }
  RawFd here(ends[0]);
  RawFd there(ends[1]);
  Message message;
  message.kind = MessageKind::kDetach;
  message.flags = flags;
  for (std::size_t i = 0; i + 1 < kTextSize && target[i] != '\0'; ++i)
    message.target[i] = target[i];
  const int descriptors[kDetachDescriptors] = {there.get(), mount.get(), space.get(), root.get()};
  if (!connection.send(message, descriptors, kDetachDescriptors)) {
    asked.why = "the broker has no room";
    return asked;
  }
  there.reset();  // so that the broker's death ends the wait
  Reply reply;
  if (!receive(here.get(), reply)) {
    asked.why = "the broker did not answer";
    // It may have come as far as the detach, or still come there: see whether the mount is still where it was.
    const RawFd again(raw_call(SYS_openat, AT_FDCWD, address(target), O_PATH | O_CLOEXEC | follow));
    struct ::statx now{};
    asked.unanswered = true;
    if (!again || !look_at(again.get(), now) || now.stx_mnt_id != facts.stx_mnt_id || is_detached(asked.mount))
      asked.result = Asked::Result::kDetached;
    return asked;
  }
  if (reply.outcome != Outcome::kDetached) return asked;
  asked.result = Asked::Result::kDetached;
  // Closed by the kernel when this program executes another one: that is what the broker waits for.
  if (reply.ticket == Ticket::kKeep) static_cast<void>(move_high(here.release()));
  return asked;
}

}  // namespace unmoor::exec::shim
