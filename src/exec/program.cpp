// SPDX-License-Identifier: MIT
#include "exec/program.h"

#include <cstdint>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include <climits>

#include "exec/raw_call.h"

namespace unmoor::exec {
namespace {

using Header = ElfW(Ehdr);
using Segment = ElfW(Phdr);

constexpr int kScriptDepth = 4;  // BINPRM: the kernel follows four interpreters, then says ELOOP
constexpr std::size_t kHeadSize = 1024;
constexpr std::size_t kPathSize = 256;

long read_at(int fd, void* out, std::size_t size, std::uint64_t offset) {
  return raw_call(SYS_pread64, fd, address(out), static_cast<long>(size), static_cast<long>(offset));
}

// The interpreter of "#! path [argument]"; false when there is none or it does not fit.
bool script_interpreter(const char* head, std::size_t size, char (&path)[kPathSize]) {
  std::size_t from = 2;
  while (from < size && (head[from] == ' ' || head[from] == '\t'))
    ++from;
  std::size_t to = from;
  while (to < size && std::strchr(" \t\n", head[to]) == nullptr && head[to] != '\0')
    ++to;
  if (to == from || to == size || to - from >= kPathSize) return false;
  std::memcpy(path, head + from, to - from);
  path[to - from] = '\0';
  return true;
}

ProgramKind examine_elf(int fd, const char* head, std::size_t size, const char* interpreter) {
  Header header;
  if (size < sizeof header) return ProgramKind::kUnreadable;
  std::memcpy(&header, head, sizeof header);
#if defined(__x86_64__)
  constexpr unsigned kMachine = EM_X86_64;
#elif defined(__aarch64__)
  constexpr unsigned kMachine = EM_AARCH64;
#else
#error "which machine is this?"
#endif
  constexpr unsigned char kClass = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
  if (header.e_ident[EI_CLASS] != kClass || header.e_machine != kMachine) return ProgramKind::kForeign;
  if (header.e_phentsize != sizeof(Segment)) return ProgramKind::kUnreadable;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Segment segment;
    const std::uint64_t offset = header.e_phoff + std::uint64_t{i} * sizeof segment;
    if (offset + sizeof segment <= size)
      std::memcpy(&segment, head + offset, sizeof segment);
    else if (read_at(fd, &segment, sizeof segment, offset) != static_cast<long>(sizeof segment))
      return ProgramKind::kUnreadable;
    if (segment.p_type != PT_INTERP) continue;
    char loader[kPathSize];
    if (segment.p_filesz == 0 || segment.p_filesz > sizeof loader) return ProgramKind::kForeign;
    if (read_at(fd, loader, segment.p_filesz, segment.p_offset) != static_cast<long>(segment.p_filesz))
      return ProgramKind::kUnreadable;
    loader[segment.p_filesz - 1] = '\0';
    return interpreter != nullptr && std::strcmp(loader, interpreter) == 0 ? ProgramKind::kLoads
                                                                           : ProgramKind::kForeign;
  }
  return ProgramKind::kStatic;
}

// Opens what execve would execute. O_NONBLOCK: a FIFO in its place must not hang us.
long open_program(int directory, const char* path) {
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  if (path[0] != '\0') return raw_call(SYS_openat, directory, address(path), kFlags);
  char link[32] = "/proc/self/fd/";  // an O_PATH descriptor cannot be read from
  char* end = link + std::strlen(link);
  char digits[12];
  int used = 0;
  int rest = directory;
  do
    digits[used++] = static_cast<char>('0' + rest % 10);
  while ((rest /= 10) != 0);
  while (used > 0)
    *end++ = digits[--used];
  *end = '\0';
  return raw_call(SYS_openat, AT_FDCWD, address(link), kFlags);
}

ProgramKind examine(int directory, const char* path, const char* interpreter, int depth) {
  const RawFd fd(open_program(directory, path));
  if (!fd) return ProgramKind::kUnreadable;
  struct ::stat facts;
  if (raw_call(SYS_newfstatat, fd.get(), address(""), address(&facts), AT_EMPTY_PATH) != 0 || !S_ISREG(facts.st_mode))
    return ProgramKind::kUnreadable;
  if ((facts.st_mode & (S_ISUID | S_ISGID)) != 0) return ProgramKind::kPrivileged;
  if (raw_call(SYS_fgetxattr, fd.get(), address("security.capability"), 0, 0) >= 0) return ProgramKind::kPrivileged;
  alignas(8) char head[kHeadSize];
  const long got = read_at(fd.get(), head, sizeof head, 0);
  if (got < 4) return ProgramKind::kUnreadable;
  const auto size = static_cast<std::size_t>(got);
  if (std::memcmp(head, ELFMAG, SELFMAG) == 0) return examine_elf(fd.get(), head, size, interpreter);
  if (depth == 0) return ProgramKind::kUnreadable;
  if (head[0] == '#' && head[1] == '!') {
    char next[kPathSize];
    if (!script_interpreter(head, size, next)) return ProgramKind::kUnreadable;
    return examine(AT_FDCWD, next, interpreter, depth - 1);
  }
  return examine(AT_FDCWD, "/bin/sh", interpreter, 0);  // what execvp does with ENOEXEC
}

}  // namespace

const char* own_interpreter() {
  const auto* const segments = reinterpret_cast<const Segment*>(getauxval(AT_PHDR));
  const unsigned long count = getauxval(AT_PHNUM);
  if (segments == nullptr) return nullptr;
  std::uintptr_t base = 0;
  for (unsigned long i = 0; i < count; ++i)
    if (segments[i].p_type == PT_PHDR) base = reinterpret_cast<std::uintptr_t>(segments) - segments[i].p_vaddr;
  for (unsigned long i = 0; i < count; ++i)
    if (segments[i].p_type == PT_INTERP) return reinterpret_cast<const char*>(base + segments[i].p_vaddr);
  return nullptr;
}

ProgramKind examine_program(int directory, const char* path, const char* interpreter) {
  return examine(directory, path, interpreter, kScriptDepth);
}

const char* find_program(const char* file, const char* search_path, char* out, std::size_t size) {
  if (std::strchr(file, '/') != nullptr) return file;
  const std::size_t length = std::strlen(file);
  if (length == 0) return nullptr;
  const char* rest = search_path != nullptr ? search_path : "/bin:/usr/bin";
  for (;;) {
    const char* end = std::strchr(rest, ':');
    if (end == nullptr) end = rest + std::strlen(rest);
    const auto directory = static_cast<std::size_t>(end - rest);
    if (directory + 1 + length + 1 <= size) {
      std::memcpy(out, rest, directory);
      char* name = out + directory;
      if (directory > 0) *name++ = '/';
      std::memcpy(name, file, length + 1);
      struct ::stat facts;
      if (raw_call(SYS_newfstatat, AT_FDCWD, address(out), address(&facts), 0) == 0 && S_ISREG(facts.st_mode) &&
          raw_call(SYS_faccessat, AT_FDCWD, address(out), X_OK) == 0)
        return out;
    }
    if (*end == '\0') return nullptr;
    rest = end + 1;
  }
}

}  // namespace unmoor::exec
