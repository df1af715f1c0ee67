// SPDX-License-Identifier: MIT
// What a loop that looks again does between two looks.
#pragma once

namespace unmoor {

inline void pause_briefly() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield" ::: "memory");
#endif
}

}  // namespace unmoor
