// SPDX-License-Identifier: MIT
// System calls without a libc: for the detach helper, and for a process that shares its maker's memory and must not
// touch its errno.
#pragma once

namespace unmoor::kernel {

#if defined(__x86_64__)
__attribute__((no_sanitize("address", "thread", "undefined"))) inline long raw_call(long number, long a = 0, long b = 0,
                                                                                    long c = 0, long d = 0,
                                                                                    long e = 0) noexcept {
  register long fourth __asm__("r10") = d;
  register long fifth __asm__("r8") = e;
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth)
                   : "rcx", "r11", "memory");
  return result;
}
#elif defined(__aarch64__)
__attribute__((no_sanitize("address", "thread", "undefined"))) inline long raw_call(long number, long a = 0, long b = 0,
                                                                                    long c = 0, long d = 0,
                                                                                    long e = 0) noexcept {
  register long which __asm__("x8") = number;
  register long first __asm__("x0") = a;
  register long second __asm__("x1") = b;
  register long third __asm__("x2") = c;
  register long fourth __asm__("x3") = d;
  register long fifth __asm__("x4") = e;
  __asm__ volatile("svc 0" : "+r"(first) : "r"(which), "r"(second), "r"(third), "r"(fourth), "r"(fifth) : "memory");
  return first;
}
#else
#error "raw system calls are written for x86-64 and arm64"
#endif

}  // namespace unmoor::kernel
