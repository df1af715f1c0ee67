// SPDX-License-Identifier: MIT
// libunmoor-exec.so: stands in front of libc's umount2 and of its exec family, in programs that `unmoor exec` starts.
//
// A lazy unmount is handed to the broker, which makes the system call and lets the program go on as soon as the mount
// is detached. Everything else is passed to the kernel as it was, and so is a lazy unmount whenever the broker cannot
// or may not help. A program that is executed is given the shim again if it can load it; nothing that bypasses us (raw
// system calls, system(3)) ever sees our variables, because they are not in the environment while a program runs.
//
// Once a program has detached the root directory that it started with, it is inside a container or sandbox: what it
// executes from then on is the payload, and gets nothing of ours. From that point on the shim makes no system call of
// its own in the exec family, because the payload's seccomp filter may be in force already.
//
// Thread-safety: everything but `contained` and `last` is written before main. The wrappers allocate nothing (vfork
// children).
#include <alloca.h>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "exec/environment.h"
#include "exec/program.h"
#include "exec/raw_call.h"
#include "exec/shim/connection.h"
#include "exec/shim/imports.h"
#include "exec/shim/request.h"

extern "C" char** environ;

namespace unmoor::exec::shim {
namespace {

struct Shim {
  bool active = false;
  std::atomic<bool> contained{false};
  std::atomic<std::uint64_t> last{0};  // the mount that was detached last
  uid_t user = 0;
  Environment environment;
  Connection connection;
  Origin origin;
};

constinit Shim state;

int answer(long result) {
  if (result >= 0) return static_cast<int>(result);
  errno = static_cast<int>(-result);
  return -1;
}

// The path of ours leads to the file that was preloaded, and it may be mapped as code.
bool library_is_here() {
  const RawFd fd(raw_call(SYS_openat, AT_FDCWD, address(state.environment.library()), O_RDONLY | O_CLOEXEC));
  struct ::stat facts;
  struct ::statfs filesystem;
  return fd && raw_call(SYS_newfstatat, fd.get(), address(""), address(&facts), AT_EMPTY_PATH) == 0 &&
         facts.st_dev == state.environment.token().device && facts.st_ino == state.environment.token().inode &&
         raw_call(SYS_fstatfs, fd.get(), address(&filesystem)) == 0 && (filesystem.f_flags & ST_NOEXEC) == 0;
}

// Shall the program that is about to be executed have the shim?
bool follows(int directory, const char* path) {
  return state.active && !state.contained.load(std::memory_order_relaxed) && path != nullptr &&
         static_cast<uid_t>(raw_call(SYS_geteuid)) == state.user && library_is_here() &&
         examine_program(directory, path, own_interpreter()) == ProgramKind::kLoads;
}

char* const kEmptyEnvironment[] = {nullptr};

// The environment for a program that follows; in the caller's frame, because it must outlive the call that builds it.
#define UNMOOR_WITH_SHIM(name, given)                                                                       \
  char* const* const name##_given = (given) != nullptr ? (given) : kEmptyEnvironment;                       \
  const Environment::Room name##_room = state.environment.room_with(name##_given);                          \
  auto** const name = static_cast<char**>(alloca(name##_room.pointers * sizeof(char*) + name##_room.text)); \
  state.environment.with(name##_given, name, reinterpret_cast<char*>(name + name##_room.pointers))

int execute(int directory, const char* path, char* const* arguments, char* const* environment, int flags) {
  if (!follows(directory, path))
    return answer(raw_call(SYS_execveat, directory, address(path), address(arguments), address(environment), flags));
  UNMOOR_WITH_SHIM(with, environment);
  return answer(raw_call(SYS_execveat, directory, address(path), address(arguments), address(with), flags));
}

template <typename Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

bool follows_in_path(const char* file) {
  if (file == nullptr) return false;
  char found[4096];
  const char* const path = find_program(file, std::getenv("PATH"), found, sizeof found);
  return path != nullptr && follows(AT_FDCWD, path);
}

// libc's own search and its treatment of scripts without "#!"; we only choose the environment.
int execute_in_path(const char* file, char* const* arguments, char* const* environment) {
  using ExecFunction = int (*)(const char*, char* const*, char* const*);
  const auto libc = next<ExecFunction>("execvpe");
  if (!follows_in_path(file)) return libc(file, arguments, environment);
  UNMOOR_WITH_SHIM(with, environment);
  return libc(file, arguments, with);
}

std::int64_t now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
}

void report(const char* target, int flags, long result, std::int64_t nanoseconds, const char* why) {
  Message message;
  message.kind = MessageKind::kLeftAlone;
  message.flags = flags;
  message.result = static_cast<std::int32_t>(-result);
  message.nanoseconds = nanoseconds;
  for (std::size_t i = 0; i + 1 < sizeof message.target && target[i] != '\0'; ++i)
    message.target[i] = target[i];
  for (std::size_t i = 0; i + 1 < sizeof message.why && why[i] != '\0'; ++i)
    message.why[i] = why[i];
  if (state.connection.trusted(state.environment.token()))
    static_cast<void>(state.connection.send(message, nullptr, 0));
}

// The kernel's call, timed for the report when somebody reads one.
long plain(const char* target, int flags, const char* why) {
  if (!state.active || state.environment.token().report == 0 || why == nullptr)
    return raw_call(SYS_umount2, address(target), flags);
  const std::int64_t start = now();
  const long result = raw_call(SYS_umount2, address(target), flags);
  // A pointer that the kernel could not read is not for us to read either.
  if (result != -EFAULT) report(target, flags, result, now() - start, why);
  return result;
}

long unmount(const char* target, int flags) {
  if ((flags & MNT_DETACH) == 0) return plain(target, flags, "not lazy");
  if ((flags & ~(MNT_DETACH | UMOUNT_NOFOLLOW)) != 0) return plain(target, flags, "unusual flags");
  if (!state.active) return plain(target, flags, nullptr);
  const Asked asked = ask_broker(state.connection, state.environment.token(), state.origin,
                                 state.last.load(std::memory_order_relaxed), target, flags);
  long result = asked.result == Asked::Result::kDetached ? 0 : plain(target, flags, asked.why);
  if (result == -EINVAL && asked.unanswered && is_detached(asked.mount)) result = 0;
  if (result == 0) state.last.store(asked.mount, std::memory_order_relaxed);
  if (result == 0 && asked.was_origin) state.contained.store(true, std::memory_order_relaxed);
  return result;
}

__attribute__((constructor)) void start(int, char**, char** environment) {
  if (!state.environment.take_from(environment)) return;
  state.active = true;
  state.user = static_cast<uid_t>(raw_call(SYS_geteuid));
  const bool keep = imports_umount();
  state.connection.open(state.environment.token(), keep ? Keep::kYes : Keep::kNo);
  state.origin = Origin::of_root();
}

}  // namespace
}  // namespace unmoor::exec::shim

using namespace unmoor::exec;        // NOLINT: the entry points below are C's
using namespace unmoor::exec::shim;  // NOLINT

// Collects a variadic list of arguments the way execl(3) is called; the list ends with a null pointer.
#define UNMOOR_ARGUMENTS(arguments, first, list)                                     \
  std::size_t count = 1;                                                             \
  va_list counting;                                                                  \
  va_copy(counting, list);                                                           \
  while (va_arg(counting, const char*) != nullptr)                                   \
    ++count;                                                                         \
  va_end(counting);                                                                  \
  auto** const arguments = static_cast<char**>(alloca((count + 1) * sizeof(char*))); \
  arguments[0] = const_cast<char*>(first);                                           \
  for (std::size_t i = 1; i <= count; ++i)                                           \
  arguments[i] = va_arg(list, char*)

extern "C" {

#define UNMOOR_EXPORT __attribute__((visibility("default")))

UNMOOR_EXPORT int umount2(const char* target, int flags) noexcept {
  return answer(unmount(target, flags));
}

UNMOOR_EXPORT int execve(const char* path, char* const arguments[], char* const environment[]) noexcept {
  if (!follows(AT_FDCWD, path))
    return answer(raw_call(SYS_execve, address(path), address(arguments), address(environment)));
  UNMOOR_WITH_SHIM(with, environment);
  return answer(raw_call(SYS_execve, address(path), address(arguments), address(with)));
}

UNMOOR_EXPORT int execv(const char* path, char* const arguments[]) noexcept {
  return execve(path, arguments, environ);
}

UNMOOR_EXPORT int execveat(int directory, const char* path, char* const arguments[], char* const environment[],
                           int flags) noexcept {
  return execute(directory, path, arguments, environment, flags);
}

UNMOOR_EXPORT int fexecve(int fd, char* const arguments[], char* const environment[]) noexcept {
  if (fd < 0) return answer(-EINVAL);
  return execute(fd, "", arguments, environment, AT_EMPTY_PATH);
}

UNMOOR_EXPORT int execvpe(const char* file, char* const arguments[], char* const environment[]) noexcept {
  return execute_in_path(file, arguments, environment);
}

UNMOOR_EXPORT int execvp(const char* file, char* const arguments[]) noexcept {
  return execute_in_path(file, arguments, environ);
}

UNMOOR_EXPORT int execl(const char* path, const char* first, ...) noexcept {
  va_list list;
  va_start(list, first);
  UNMOOR_ARGUMENTS(arguments, first, list);
  va_end(list);
  return execve(path, arguments, environ);
}

UNMOOR_EXPORT int execlp(const char* file, const char* first, ...) noexcept {
  va_list list;
  va_start(list, first);
  UNMOOR_ARGUMENTS(arguments, first, list);
  va_end(list);
  return execute_in_path(file, arguments, environ);
}

UNMOOR_EXPORT int execle(const char* path, const char* first, ...) noexcept {
  va_list list;
  va_start(list, first);
  UNMOOR_ARGUMENTS(arguments, first, list);
  char* const* const environment = va_arg(list, char* const*);
  va_end(list);
  return execve(path, arguments, environment);
}

UNMOOR_EXPORT int posix_spawn(pid_t* pid, const char* path, const posix_spawn_file_actions_t* actions,
                              const posix_spawnattr_t* attributes, char* const arguments[], char* const environment[]) {
  const auto libc = next<decltype(&::posix_spawn)>("posix_spawn");
  if (!follows(AT_FDCWD, path)) return libc(pid, path, actions, attributes, arguments, environment);
  UNMOOR_WITH_SHIM(with, environment);
  return libc(pid, path, actions, attributes, arguments, with);
}

UNMOOR_EXPORT int posix_spawnp(pid_t* pid, const char* file, const posix_spawn_file_actions_t* actions,
                               const posix_spawnattr_t* attributes, char* const arguments[],
                               char* const environment[]) {
  const auto libc = next<decltype(&::posix_spawnp)>("posix_spawnp");
  if (!follows_in_path(file)) return libc(pid, file, actions, attributes, arguments, environment);
  UNMOOR_WITH_SHIM(with, environment);
  return libc(pid, file, actions, attributes, arguments, with);
}
}
