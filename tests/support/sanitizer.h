// SPDX-License-Identifier: MIT
// For what cannot be looked at in a build with a sanitizer, whose run time makes calls and keeps memory of its own.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define UNMOOR_ASAN 1
#elif defined(__SANITIZE_THREAD__)
#define UNMOOR_TSAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define UNMOOR_ASAN 1
#elif __has_feature(thread_sanitizer)
#define UNMOOR_TSAN 1
#endif
#endif

namespace unmoor::test {

#if defined(UNMOOR_ASAN) || defined(UNMOOR_TSAN)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace unmoor::test

#define UNMOOR_NEEDS_NO_SANITIZER(why) \
  if (unmoor::test::kSanitized) GTEST_SKIP() << "needs a build without sanitizers: " why
