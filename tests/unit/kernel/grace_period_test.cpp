// SPDX-License-Identifier: MIT
#include "kernel/grace_period.h"

#include <cerrno>
#include <cstring>

#include <gtest/gtest.h>

namespace unmoor::kernel {
namespace {

// A machine whose knob reads as `text`; nullptr: there is no knob.
class Knob : public SystemCalls {
 public:
  explicit Knob(const char* text) : text_(text) {}
  [[nodiscard]] long call(long number, long a, long b, long c, long d, long e, long f) const noexcept override {
    if (number == SYS_openat && text_ == nullptr) return -ENOENT;
    if (number == SYS_openat) return SystemCalls::call(number, a, pointer("/dev/null"), c, d, e, f);
    if (number != SYS_read) return SystemCalls::call(number, a, b, c, d, e, f);
    if (*text_ == 0) return 0;
    std::memcpy(reinterpret_cast<void*>(b), text_, 1);  // NOLINT: the seam passes pointers as numbers
    return 1;
  }

 private:
  const char* text_;
};

TEST(GracePeriod, IsWhatTheKnobSays) {
  EXPECT_EQ(grace_period(Knob("0\n")), GracePeriod::kExpedited);
  EXPECT_EQ(grace_period(Knob("1\n")), GracePeriod::kNormal);
}

TEST(GracePeriod, IsUnknownWithoutAKnob) {
  EXPECT_EQ(grace_period(Knob(nullptr)), GracePeriod::kUnknown);
  EXPECT_EQ(grace_period(Knob("")), GracePeriod::kUnknown);
}

}  // namespace
}  // namespace unmoor::kernel
