// SPDX-License-Identifier: MIT
// The guard on the machine's own knob. Periods are short, and other users of the lock are waited for.
#include "measure/rcu_guard.h"

#include <chrono>
#include <fcntl.h>
#include <string>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "support/child.h"

namespace unmoor::measure {
namespace {

using namespace std::chrono_literals;

const RcuGuard::Options kNormalOn{.knobs = {.normal = 1, .expedited = {}}, .wait_for_lock = 100s};

int knob() {
  return read_rcu_knobs(kernel::SystemCalls::real()).normal.value_or(-1);
}

TEST(RcuGuardOnTheMachine, IsBackAfterTheGuardAndAfterSigkill) {
  if (access("/sys/kernel/rcu_normal", W_OK) != 0) GTEST_SKIP() << "needs root: cannot write /sys/kernel/rcu_normal";
  int before = 0;
  {
    RcuGuard::Options look = kNormalOn;
    look.knobs.normal.reset();  // only the lock, so that nobody else's change is taken for the resting value
    const Result<RcuGuard> guard = RcuGuard::set(look);
    ASSERT_TRUE(guard) << guard.error().object;
    before = knob();
  }
  test::Child owner([](const std::function<void()>& ready) {
    const Result<RcuGuard> guard = RcuGuard::set(kNormalOn);
    if (!guard || knob() != 1) return 1;
    ready();
    for (;;)
      pause();
  });
  ASSERT_TRUE(owner.ready());
  kill(owner.pid(), SIGKILL);
  (void)owner.wait();
  RcuGuard::Options look = kNormalOn;
  look.knobs.normal.reset();
  const Result<RcuGuard> after = RcuGuard::set(look);
  ASSERT_TRUE(after) << after.error().object;
  EXPECT_EQ(knob(), before);
}

}  // namespace
}  // namespace unmoor::measure
