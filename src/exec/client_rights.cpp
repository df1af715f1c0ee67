// SPDX-License-Identifier: MIT
#include "exec/client_rights.h"

#include <charconv>
#include <linux/magic.h>
#include <optional>
#include <string>
#include <string_view>
#include <sys/vfs.h>

namespace unmoor::exec {
namespace {

using kernel::SystemCalls;
using kernel::UniqueFd;

constexpr long kGetUserNamespace = 0xb701;  // NS_GET_USERNS, NS_GET_PARENT, NS_GET_OWNER_UID of <linux/nsfs.h>
constexpr long kGetParent = 0xb702;
constexpr long kGetOwnerUid = 0xb704;
constexpr unsigned kCapSysAdmin = 21;

std::string read_file(const SystemCalls& calls, int proc, const std::string& path) {
  const UniqueFd fd(static_cast<int>(calls.openat(proc, path.c_str(), O_RDONLY)));
  if (!fd) return {};
  std::string text(4096, '\0');
  const long got = calls.read(fd.get(), text.data(), text.size());
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

// The first word after "KEY:" in /proc/PID/status.
std::string_view field(std::string_view status, std::string_view key) {
  std::size_t at = 0;
  while (at < status.size()) {
    const std::size_t end = std::min(status.find('\n', at), status.size());
    std::string_view line = status.substr(at, end - at);
    if (line.starts_with(key) && line.size() > key.size() && line[key.size()] == ':') {
      line.remove_prefix(key.size() + 1);
      line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
      return line;
    }
    at = end + 1;
  }
  return {};
}

template <typename Number>
std::optional<Number> number(std::string_view text, int base = 10) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{}) return std::nullopt;
  return value;
}

// "Uid: real effective saved filesystem": all four must be `uid`. A process that a setuid program has taken over
// differs from the one that sent the message in one of them.
bool all_uids_are(std::string_view uids, uid_t uid) {
  int seen = 0;
  while (!uids.empty()) {
    const std::size_t end = std::min(uids.find_first_of(" \t"), uids.size());
    if (end > 0) {
      if (number<uid_t>(uids.substr(0, end)) != uid) return false;
      ++seen;
    }
    uids.remove_prefix(std::min(end + 1, uids.size()));
  }
  return seen == 4;
}

std::optional<std::uint64_t> inode(const SystemCalls& calls, int directory, const std::string& path, int flags = 0) {
  struct ::statx facts{};
  if (calls.statx(directory, path.c_str(), flags | AT_STATX_DONT_SYNC, STATX_INO, &facts) != 0) return std::nullopt;
  return facts.stx_ino;
}

// `ancestor` is `space` or one that it descends from, as far up as the broker can see.
bool descends(const SystemCalls& calls, const NamedSpace& space, std::uint64_t ancestor) {
  if (space.owner_inode == ancestor) return true;
  UniqueFd above(static_cast<int>(calls.call(SYS_ioctl, space.owner.get(), kGetParent)));
  while (above) {
    if (inode(calls, above.get(), "", AT_EMPTY_PATH) == ancestor) return true;
    above.reset(static_cast<int>(calls.call(SYS_ioctl, above.get(), kGetParent)));
  }
  return false;
}

Result<void> check_inspectable(const SystemCalls& calls, const Identity& self, const std::string& pid,
                               const NamedSpace& space) {
  const auto mounts = inode(calls, self.proc.get(), pid + "/ns/mnt");
  const auto user = inode(calls, self.proc.get(), pid + "/ns/user");
  if (mounts && user) {
    if (*mounts != space.inode) return fail(EPERM, "the client is in another mount namespace");
    if (!descends(calls, space, *user)) return fail(EPERM, "the client's user namespace does not own this one");
    return {};
  }
  uid_t owner = 0;
  if (space.owner_inode == self.user_namespace ||
      calls.call(SYS_ioctl, space.owner.get(), kGetOwnerUid, SystemCalls::pointer(&owner)) != 0 || owner != self.uid)
    return fail(EPERM, "the client cannot be inspected");
  return {};
}

}  // namespace

Result<Identity> Identity::of_this_process(const SystemCalls& calls) {
  Identity self;
  self.proc.reset(static_cast<int>(calls.open("/proc", O_PATH | O_DIRECTORY)));
  struct ::statfs facts{};
  if (!self.proc || calls.call(SYS_fstatfs, self.proc.get(), SystemCalls::pointer(&facts)) != 0 ||
      facts.f_type != PROC_SUPER_MAGIC)
    return fail(ENOENT, "open", "/proc");
  self.uid = static_cast<uid_t>(calls.call(SYS_geteuid));
  self.pid = static_cast<pid_t>(calls.call(SYS_getpid));
  const auto mounts = inode(calls, self.proc.get(), "self/ns/mnt");
  const auto user = inode(calls, self.proc.get(), "self/ns/user");
  if (!mounts || !user) return fail(ENOENT, "stat", "/proc/self/ns");
  self.mount_namespace = *mounts;
  self.user_namespace = *user;
  self.seccomp_filters =
      number<int>(field(read_file(calls, self.proc.get(), "self/status"), "Seccomp_filters")).value_or(0);
  return self;
}

Result<NamedSpace> name_space(const SystemCalls& calls, int fd) {
  // The link's text is made by the kernel without asking any filesystem, and only a namespace's begins with its kind.
  char link[32];
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  const long size = calls.readlinkat(AT_FDCWD, path.c_str(), link, sizeof link);
  if (size < 5 || !std::string_view(link, static_cast<std::size_t>(size)).starts_with("mnt:["))
    return fail(EINVAL, "not a mount namespace");
  NamedSpace space;
  const auto own = inode(calls, fd, "", AT_EMPTY_PATH);
  const long owner = calls.call(SYS_ioctl, fd, kGetUserNamespace);
  if (owner < 0) return fail_from(owner, "NS_GET_USERNS");
  space.owner.reset(static_cast<int>(owner));
  const auto owner_inode = inode(calls, space.owner.get(), "", AT_EMPTY_PATH);
  if (!own || !owner_inode) return fail(EINVAL, "statx");
  space.inode = *own;
  space.owner_inode = *owner_inode;
  return space;
}

Result<void> check_rights(const SystemCalls& calls, const Identity& self, const Sender& sender,
                          const NamedSpace& space) {
  if (sender.pid <= 0) return fail(EPERM, "the client has no process id here");
  const std::string pid = std::to_string(sender.pid);
  const std::string status = read_file(calls, self.proc.get(), pid + "/status");
  const auto capabilities = number<std::uint64_t>(field(status, "CapEff"), 16);
  if (!capabilities || (*capabilities >> kCapSysAdmin & 1) == 0) return fail(EPERM, "the client lacks CAP_SYS_ADMIN");
  if (!all_uids_are(field(status, "Uid"), sender.uid)) return fail(EPERM, "the client's user ids differ");
  if (number<int>(field(status, "Seccomp_filters")).value_or(0) > self.seccomp_filters)
    return fail(EPERM, "the client is under a seccomp filter");
  if (read_file(calls, self.proc.get(), pid + "/attr/current") !=
      read_file(calls, self.proc.get(), "self/attr/current"))
    return fail(EPERM, "the client has another security label");
  if (auto checked = check_inspectable(calls, self, pid, space); !checked) return checked;
  // All of the above was about this number; was it the sender's all the time?
  if (sender.pidfd) {
    const long alive = calls.call(SYS_pidfd_send_signal, sender.pidfd.get(), 0, 0, 0);
    if (alive != 0 && alive != -EPERM) return fail(EPERM, "the client has ended");
  }
  return {};
}

}  // namespace unmoor::exec
