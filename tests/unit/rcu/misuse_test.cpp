// SPDX-License-Identifier: MIT
// Each misuse ends the process with a message, and not with a hang.
#include <cstdlib>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>

#include "rcu/rcu.h"
#include "unit/rcu/fake_membarrier.h"

namespace unmoor::rcu {
namespace {

// Destroyed by exit(3) after everything that was made later.
struct CallsAfterTheDestructors {
  ~CallsAfterTheDestructors() { static_cast<void>(Membarrier::real().call(MEMBARRIER_CMD_QUERY)); }
};

class RcuMisuseDeathTest : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(RcuMisuseDeathTest, SynchronizeInsideAReadSection) {
  EXPECT_DEATH(
      {
        rcu_domain domain;
        const std::scoped_lock reading(domain);
        rcu_synchronize(domain);
      },
      "inside a read section");
}

TEST_F(RcuMisuseDeathTest, BarrierInsideAReadSection) {
  EXPECT_DEATH(
      {
        rcu_domain domain;
        const std::scoped_lock reading(domain);
        rcu_barrier(domain);
      },
      "inside a read section");
}

TEST_F(RcuMisuseDeathTest, BarrierInsideACallback) {
  EXPECT_DEATH(
      {
        rcu_domain domain;
        rcu_retire(domain, &domain, [](rcu_domain* in) { rcu_barrier(*in); });
        rcu_barrier(domain);
      },
      "inside a callback");
}

TEST_F(RcuMisuseDeathTest, DomainEndsWhileAThreadReads) {
  EXPECT_DEATH(
      {
        rcu_domain domain;
        domain.lock();
      },
      "a domain ends while a thread reads in it");
}

TEST_F(RcuMisuseDeathTest, MembarrierTakenAwayAltogether) {
  EXPECT_DEATH(
      {
        test::FakeMembarrier membarrier;
        rcu_domain domain({.membarrier = &membarrier});
        membarrier.refuse(MEMBARRIER_CMD_GLOBAL | MEMBARRIER_CMD_PRIVATE_EXPEDITED, EPERM);
        rcu_synchronize(domain);
      },
      "refused now");
}

// A pool's helper is not joined by exit(3). What the sanitizers said before: "object has invalid vptr".
TEST(Membarrier, IsUsableByAThreadThatOutlivesTheStaticObjects) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        static const CallsAfterTheDestructors late;
        static_cast<void>(Membarrier::real());
        std::exit(0);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace unmoor::rcu
