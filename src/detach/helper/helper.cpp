// SPDX-License-Identifier: MIT
// The program that makes the slow system call while its caller goes on. No libc, no allocation, no writable data.
//
// It is started with every signal blocked and keeps it so. In this order, because each step is what makes the next
// one safe: drop capabilities that exec gave and the caller does not have; close what was inherited (may hang in a
// file system's flush: the caller gives up after a while by taking the token); open the mount as it is found now and
// compare its id (a mount that came on top since must stay); let go of the directory, of the caller's working
// directory and of its root (setns to the own mount namespace moves both to the namespace's root); take the token;
// unmount.
#include <asm/unistd.h>

#include "detach/helper/protocol.h"
#include "kernel/raw_call.h"

namespace unmoor::detach {
namespace {

using kernel::raw_call;
using Word = unsigned long;

constexpr long kPathOnly = 010000000;  // O_PATH, the same number on every architecture here
constexpr long kCloseOnExec = 02000000;
#if defined(__aarch64__)
constexpr long kNoFollow = 0100000;
#else
constexpr long kNoFollow = 0400000;
#endif
constexpr long kEmptyPath = 0x1000;  // AT_EMPTY_PATH
constexpr long kDontSync = 0x4000;   // AT_STATX_DONT_SYNC
constexpr long kNewMountNamespace = 0x20000;
constexpr Word kLastDescriptor = ~0U;
constexpr Word kCapabilityVersion3 = 0x20080522;

struct Statx {  // struct statx: 256 bytes, the mount id at 0x90
  unsigned mask;
  unsigned char before[0x8c];
  Word mount_id;
  unsigned char after[256 - 0x98];
};
static_assert(sizeof(Statx) == 256);

struct CapabilityHeader {
  unsigned version;
  int pid;
};
struct CapabilityWord {
  unsigned effective, permitted, inheritable;
};

long address(const void* p) {
  return reinterpret_cast<long>(p);
}

void leave(HelperExit code) {
  for (;;)
    raw_call(__NR_exit_group, code);
}

Word number(const char* text) {
  Word value = 0;
  for (; *text >= '0' && *text <= '9'; ++text)
    value = value * 10 + static_cast<Word>(*text - '0');
  return value;
}

bool keep_only_capabilities(Word allowed) {
  CapabilityHeader header{kCapabilityVersion3, 0};
  CapabilityWord words[2];
  if (raw_call(__NR_capget, address(&header), address(words)) != 0) return false;
  for (int i = 0; i < 2; ++i) {
    const unsigned keep = words[i].permitted & static_cast<unsigned>(allowed >> (32 * i));
    words[i] = CapabilityWord{keep, keep, 0};
  }
  return raw_call(__NR_capset, address(&header), address(words)) == 0;
}

void close_between(Word first, Word last) {
  if (first <= last) raw_call(__NR_close_range, static_cast<long>(first), static_cast<long>(last), 0);
}

void close_all_but(Word a, Word b) {
  const Word low = a < b ? a : b;
  const Word high = a < b ? b : a;
  if (low > 0) close_between(0, low - 1);
  close_between(low + 1, high - 1);
  close_between(high + 1, kLastDescriptor);
}

// Writes "/proc/self/fd/N".
void name_descriptor(char* out, long fd) {
  const char prefix[] = {'/', 'p', 'r', 'o', 'c', '/', 's', 'e', 'l', 'f', '/', 'f', 'd', '/'};
  for (const char c : prefix)
    *out++ = c;
  long divisor = 1;
  while (fd / divisor >= 10)
    divisor *= 10;
  for (; divisor > 0; divisor /= 10)
    *out++ = static_cast<char>('0' + fd / divisor % 10);
  *out = '\0';
}

void run(const Word* stack) {
  const auto* argv = reinterpret_cast<const char* const*>(stack + 1);
  if (stack[0] != kArgumentCount) leave(kHelperNoArguments);
  const Word parent = number(argv[kArgumentParent]);
  const Word token = number(argv[kArgumentToken]);
  if (!keep_only_capabilities(number(argv[kArgumentCapabilities]))) leave(kHelperNoCapabilities);
  close_all_but(parent, token);

  const long mount = raw_call(__NR_openat, static_cast<long>(parent), address(argv[kArgumentEntry]),
                              kPathOnly | kNoFollow | kCloseOnExec);
  Statx facts;  // statx fills it; a compiler would clear it with memset, which is in the libc
  const Word mask = number(argv[kArgumentIdMask]);
  if (mount < 0 ||
      raw_call(__NR_statx, mount, address(""), kEmptyPath | kDontSync, static_cast<long>(mask), address(&facts)) != 0 ||
      (facts.mask & mask) == 0 || facts.mount_id != number(argv[kArgumentId])) {
    leave(kHelperNotThatMount);
  }
  raw_call(__NR_close, static_cast<long>(parent));

  const long self = raw_call(__NR_pidfd_open, raw_call(__NR_getpid), 0);
  if (self < 0 || raw_call(__NR_setns, self, kNewMountNamespace) != 0) leave(kHelperNoNamespace);
  raw_call(__NR_close, self);

  char path[40];
  name_descriptor(path, mount);
  Word taken = 0;
  if (raw_call(__NR_read, static_cast<long>(token), address(&taken), sizeof taken) != sizeof taken) {
    leave(kHelperTooLate);
  }
  const long result = raw_call(__NR_umount2, address(path), static_cast<long>(number(argv[kArgumentFlags])));
  leave(result == 0 ? kHelperDone : kHelperUmountFailed);
}

}  // namespace
}  // namespace unmoor::detach

extern "C" __attribute__((used, visibility("hidden"))) void unmoor_helper_main(const unsigned long* stack) {
  unmoor::detach::run(stack);
}

#if defined(__x86_64__)
__asm__(
    ".globl _start\n"
    "_start:\n"
    "  xor %ebp, %ebp\n"
    "  mov %rsp, %rdi\n"
    "  and $-16, %rsp\n"
    "  call unmoor_helper_main\n");
#else
__asm__(
    ".globl _start\n"
    "_start:\n"
    "  mov x29, #0\n"
    "  mov x0, sp\n"
    "  bl unmoor_helper_main\n");
#endif
