// SPDX-License-Identifier: MIT
#include "detach/helper_process.h"

#include <array>
#include <atomic>
#include <csignal>
#include <linux/capability.h>
#include <linux/memfd.h>
#include <sched.h>
#include <string>
#include <sys/mount.h>

#include "detach/helper/image.h"
#include "detach/helper/protocol.h"
#include "detach/reaper.h"
#include "kernel/raw_call.h"

namespace unmoor::detach {
namespace {

using kernel::raw_call;
using kernel::SystemCalls;
using kernel::UniqueFd;

constexpr unsigned kMemfdExec = 0x10;  // MFD_EXEC, Linux 6.3: asked for where vm.memfd_noexec is set

// The program file of this process, made once. The descriptor belongs to a process that may close what it does not
// know, and reuse the number: so it is a number with the identity of the file that must be behind it.
struct ProgramFile {
  int fd = -1;
  std::uint64_t inode = 0;
};
std::atomic<int> program_fd{-1};
std::atomic<std::uint64_t> program_inode{0};
std::atomic<std::uint32_t> program_device{0};

bool is_program(const struct ::statx& facts, std::uint64_t inode, std::uint32_t device) noexcept {
  return facts.stx_ino == inode && facts.stx_dev_major == 0 && facts.stx_dev_minor == device;
}

bool still_there(const SystemCalls& calls, const ProgramFile& file) noexcept {
  if (file.fd < 0) return false;
  struct ::statx facts{};
  return calls.statx(file.fd, "", AT_EMPTY_PATH, STATX_INO, &facts) == 0 &&
         is_program(facts, file.inode, program_device.load());
}

Result<ProgramFile> make_program_file(const SystemCalls& calls) {
  constexpr long flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  long fd = calls.call(SYS_memfd_create, SystemCalls::pointer("unmoor-detach"), flags | kMemfdExec);
  if (fd == -EINVAL) fd = calls.call(SYS_memfd_create, SystemCalls::pointer("unmoor-detach"), flags);
  if (fd < 0) return fail_from(fd, "memfd_create");
  UniqueFd owner(static_cast<int>(fd));
  const auto image = helper_image();
  const long written = calls.call(SYS_write, fd, SystemCalls::pointer(image.data()), static_cast<long>(image.size()));
  if (written != static_cast<long>(image.size())) return fail(written < 0 ? static_cast<int>(-written) : EIO, "write");
  constexpr long seals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
  const long sealed = calls.call(SYS_fcntl, fd, F_ADD_SEALS, seals);
  if (sealed < 0) return fail_from(sealed, "fcntl");
  struct ::statx facts{};
  const long known = calls.statx(static_cast<int>(fd), "", AT_EMPTY_PATH, STATX_INO, &facts);
  if (known < 0) return fail_from(known, "statx");
  program_device.store(facts.stx_dev_minor);  // the same for every memory file of this kernel
  return ProgramFile{.fd = owner.release(), .inode = facts.stx_ino};
}

// Two threads may both make one; the one that comes second closes its own again.
Result<ProgramFile> program_file(const SystemCalls& calls) {
  const ProgramFile known{.fd = program_fd.load(), .inode = program_inode.load()};
  if (still_there(calls, known)) return known;
  auto made = make_program_file(calls);
  if (!made) return made;
  int expected = known.fd;
  if (program_fd.compare_exchange_strong(expected, made->fd)) {
    program_inode.store(made->inode);
    return made;
  }
  for (int tries = 0; tries < 100; ++tries) {
    const ProgramFile other{.fd = program_fd.load(), .inode = program_inode.load()};
    if (still_there(calls, other)) {
      UniqueFd unneeded(made->fd);
      return other;
    }
    static_cast<void>(calls.call(SYS_sched_yield));
  }
  UniqueFd unneeded(made->fd);
  return fail(EAGAIN, "memfd_create");
}

Result<std::uint64_t> effective_capabilities(const SystemCalls& calls) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> words{};
  const long result = calls.call(SYS_capget, SystemCalls::pointer(&header), SystemCalls::pointer(words.data()));
  if (result < 0) return fail_from(result, "capget");
  return words[0].effective | (static_cast<std::uint64_t>(words[1].effective) << 32);
}

struct Start {
  ProgramFile program;
  std::uint32_t device;
  int parent;
  int token;
  char* const* arguments;
};

// Runs in the new process, which shares this one's memory until execveat and this one's maker is suspended until then.
// The descriptor table is its own. Nothing here may touch errno or anything else that the maker owns.
__attribute__((no_sanitize("address", "thread", "undefined"))) int become_helper(void* argument) {
  const auto* start = static_cast<const Start*>(argument);
  struct ::statx facts;
  char* environment[] = {nullptr};
  // Another thread may have closed the program file and opened something else since: execute nothing else.
  if (raw_call(SYS_statx, start->program.fd, reinterpret_cast<long>(""), AT_EMPTY_PATH, STATX_INO,
               reinterpret_cast<long>(&facts)) == 0 &&
      facts.stx_ino == start->program.inode && facts.stx_dev_minor == start->device && facts.stx_dev_major == 0 &&
      raw_call(SYS_fcntl, start->parent, F_SETFD, 0) == 0 && raw_call(SYS_fcntl, start->token, F_SETFD, 0) == 0) {
    raw_call(SYS_execveat, start->program.fd, reinterpret_cast<long>(""), reinterpret_cast<long>(start->arguments),
             reinterpret_cast<long>(environment), AT_EMPTY_PATH);
  }
  raw_call(SYS_exit, 127);
  return 127;
}

}  // namespace

Result<HelperProcess> start_helper(const SystemCalls& calls, const Target& target, const kernel::MountId& id, int token,
                                   int umount_flags) {
  const auto program = program_file(calls);
  if (!program) return std::unexpected(program.error());
  const auto capabilities = effective_capabilities(calls);
  if (!capabilities) return std::unexpected(capabilities.error());

  std::array<std::string, kArgumentCount> texts;
  texts[kArgumentName] = "unmoor-detach";
  texts[kArgumentParent] = std::to_string(target.parent.get());
  texts[kArgumentToken] = std::to_string(token);
  // The helper names the mount by a link in /proc, which has to be followed; the user's link was looked at already.
  texts[kArgumentFlags] = std::to_string(umount_flags & ~UMOUNT_NOFOLLOW);
  texts[kArgumentIdMask] = std::to_string(id.mask);
  texts[kArgumentId] = std::to_string(id.value);
  texts[kArgumentCapabilities] = std::to_string(*capabilities);
  texts[kArgumentEntry] = target.entry;
  std::array<char*, kArgumentCount + 1> arguments{};
  for (std::size_t i = 0; i < texts.size(); ++i)
    arguments[i] = texts[i].data();

  Start start{.program = *program,
              .device = program_device.load(),
              .parent = target.parent.get(),
              .token = token,
              .arguments = arguments.data()};
  alignas(16) std::array<char, 4096> stack;
  int pidfd = -1;
  const long pid = calls.clone_sharing_memory(become_helper, stack.data() + stack.size(),
                                              CLONE_VFORK | CLONE_PIDFD | SIGCHLD, &start, &pidfd);
  if (pid < 0) return fail_from(pid, "clone");
  return HelperProcess{.pid = static_cast<pid_t>(pid), .pidfd = UniqueFd(pidfd)};
}

}  // namespace unmoor::detach
