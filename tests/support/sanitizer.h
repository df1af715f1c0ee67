// SPDX-License-Identifier: MIT
// For what cannot be looked at in a build with a sanitizer, whose run time makes calls and keeps memory of its own.
#pragma once

namespace unmoor::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace unmoor::test

#define UNMOOR_NEEDS_NO_SANITIZER(why) \
  if (unmoor::test::kSanitized) GTEST_SKIP() << "needs a build without sanitizers: " why
