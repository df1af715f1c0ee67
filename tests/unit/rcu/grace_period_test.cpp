// SPDX-License-Identifier: MIT
#include <atomic>
#include <chrono>
#include <latch>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "rcu/rcu.h"
#include "unit/rcu/fake_membarrier.h"

namespace unmoor::rcu {
namespace {

using namespace std::chrono_literals;

// A thread that sits in a read section of `domain` until it is told to leave.
class SittingReader {
 public:
  explicit SittingReader(rcu_domain& domain)
      : thread_([this, &domain] {
          const std::scoped_lock reading(domain);
          entered_.count_down();
          leave_.wait();
        }) {
    entered_.wait();
  }
  ~SittingReader() { leave(); }
  void leave() {
    if (!thread_.joinable()) return;
    leave_.count_down();
    thread_.join();
  }

 private:
  std::latch entered_{1};
  std::latch leave_{1};
  std::thread thread_;
};

std::uint64_t all(const Statistics& statistics) {
  return statistics.normal + statistics.expedited;
}

// Each test with the kernel's membarrier, and with readers that fence.
class GracePeriod : public testing::TestWithParam<bool> {
 protected:
  GracePeriod() {
    if (GetParam()) membarrier_.refuse(test::FakeMembarrier::kQuery, ENOSYS);
    domain_ =
        std::make_unique<rcu_domain>(rcu_domain::Options{.modes = {.expedited = true}, .membarrier = &membarrier_});
  }
  test::FakeMembarrier membarrier_;
  std::unique_ptr<rcu_domain> domain_;
};

INSTANTIATE_TEST_SUITE_P(, GracePeriod, testing::Bool(),
                         [](const auto& i) { return i.param ? "ReadersFence" : "Membarrier"; });

TEST_P(GracePeriod, WithoutReadersEndsAtOnce) {
  EXPECT_EQ(domain_->readers_fence(), GetParam());
  rcu_synchronize(*domain_);
  EXPECT_EQ(all(domain_->statistics()), 1U);
}

TEST_P(GracePeriod, WaitsForAReaderThatBeganBefore) {
  SittingReader reader(*domain_);
  std::atomic<bool> over = false;
  std::thread waiter([&] {
    rcu_synchronize(*domain_);
    over = true;
  });
  std::this_thread::sleep_for(30ms);
  EXPECT_FALSE(over);
  reader.leave();
  waiter.join();
  EXPECT_TRUE(over);
}

TEST_P(GracePeriod, DoesNotWaitForAReaderThatBeganAfter) {
  SittingReader old(*domain_);
  std::thread waiter([&] { rcu_synchronize(*domain_); });
  while (domain_->statistics().waits == 0)
    std::this_thread::sleep_for(1ms);
  std::this_thread::sleep_for(5ms);  // the grace period has begun
  SittingReader young(*domain_);
  old.leave();
  waiter.join();  // would not return while `young` reads if it counted
}

TEST_P(GracePeriod, NestedSectionsEndWithTheOutermost) {
  domain_->lock();
  domain_->lock();
  domain_->unlock();
  EXPECT_TRUE(domain_->reading());
  std::atomic<bool> over = false;
  std::thread waiter([&] {
    rcu_synchronize(*domain_);
    over = true;
  });
  std::this_thread::sleep_for(20ms);
  EXPECT_FALSE(over);
  domain_->unlock();
  EXPECT_FALSE(domain_->reading());
  waiter.join();
}

TEST_P(GracePeriod, CallersThatComeDuringOneShareTheNext) {
  SittingReader reader(*domain_);
  std::vector<std::thread> waiters;
  waiters.emplace_back([&] { rcu_synchronize(*domain_); });
  while (domain_->statistics().waits < 1)
    std::this_thread::sleep_for(1ms);
  for (int i = 0; i < 20; ++i)
    waiters.emplace_back([&] { rcu_synchronize(*domain_); });
  while (domain_->statistics().waits < 21)
    std::this_thread::sleep_for(1ms);
  reader.leave();
  for (std::thread& waiter : waiters)
    waiter.join();
  EXPECT_EQ(all(domain_->statistics()), 2U);
}

TEST_P(GracePeriod, ThreadThatEndsInsideASectionHasLeftIt) {
  std::thread([&] { domain_->lock(); }).join();
  rcu_synchronize(*domain_);
  EXPECT_EQ(domain_->statistics().readers, 0U);
}

TEST_P(GracePeriod, WakesWhenTheThreadThatItSleepsOnEnds) {
  std::latch entered(1);
  std::latch leave(1);
  std::thread reader([&] {
    domain_->lock();
    entered.count_down();
    leave.wait();
  });
  entered.wait();
  std::thread waiter([&] { rcu_synchronize(*domain_); });
  std::this_thread::sleep_for(20ms);
  leave.count_down();
  reader.join();
  waiter.join();
}

TEST_P(GracePeriod, RecordsOfEndedThreadsAreUsedAgain) {
  for (int i = 0; i < 100; ++i) {
    std::thread([&] { const std::scoped_lock reading(*domain_); }).join();
  }
  EXPECT_EQ(domain_->statistics().readers, 0U);
}

TEST_P(GracePeriod, PolledStateIsOverAfterTheNextGracePeriodOnly) {
  const rcu_state before = rcu_get_state(*domain_);
  EXPECT_FALSE(rcu_poll_state(*domain_, before));
  rcu_synchronize(*domain_);
  EXPECT_TRUE(rcu_poll_state(*domain_, before));
  const rcu_state after = rcu_get_state(*domain_);
  EXPECT_FALSE(rcu_poll_state(*domain_, after));
  rcu_cond_synchronize(*domain_, before);  // over: runs none
  EXPECT_EQ(all(domain_->statistics()), 1U);
  rcu_cond_synchronize(*domain_, after);
  EXPECT_EQ(all(domain_->statistics()), 2U);
}

TEST_P(GracePeriod, StateTakenDuringOneNeedsTheNext) {
  SittingReader reader(*domain_);
  std::thread waiter([&] { rcu_synchronize(*domain_); });
  while (domain_->statistics().waits == 0)
    std::this_thread::sleep_for(1ms);
  std::this_thread::sleep_for(5ms);
  const rcu_state during = rcu_get_state(*domain_);
  reader.leave();
  waiter.join();
  EXPECT_FALSE(rcu_poll_state(*domain_, during));
}

TEST_P(GracePeriod, DomainsAreIndependent) {
  rcu_domain other;
  SittingReader reader(other);
  const std::scoped_lock reading(other);
  EXPECT_TRUE(other.reading());
  EXPECT_FALSE(domain_->reading());
  rcu_synchronize(*domain_);  // although two threads read in the other
}

TEST_P(GracePeriod, AThreadMayReadInManyDomainsThatComeAndGo) {
  for (int round = 0; round < 50; ++round) {
    rcu_domain one;
    rcu_domain two;
    const std::scoped_lock reading(one, two, *domain_);
    EXPECT_TRUE(one.reading() && two.reading() && domain_->reading());
  }
  rcu_synchronize(*domain_);
}

struct KindRow {
  const char* modes;
  int global, expedited;  // barriers that one request of each kind makes
};

TEST(GracePeriodKinds, UseTheBarrierOfTheirKind) {
  for (const KindRow row :
       {KindRow{"", 1, 1}, KindRow{"normal", 2, 0}, KindRow{"expedited", 0, 2}, KindRow{"realtime,expedited", 2, 0}}) {
    SCOPED_TRACE(row.modes);
    test::FakeMembarrier membarrier;
    rcu_domain domain({.modes = *parse_modes(row.modes), .membarrier = &membarrier});
    const int global = membarrier.global();
    const int expedited = membarrier.expedited();
    rcu_synchronize(domain);
    rcu_synchronize_expedited(domain);
    EXPECT_EQ(membarrier.global() - global, row.global);
    EXPECT_EQ(membarrier.expedited() - expedited, row.expedited);
    EXPECT_EQ(domain.statistics().normal, static_cast<unsigned>(row.global));
    EXPECT_EQ(domain.statistics().expedited, static_cast<unsigned>(row.expedited));
  }
}

TEST(GracePeriodKinds, NormalAfterBootHurriesUntilBootEnds) {
  rcu_domain domain({.modes = {.normal_after_boot = true}, .boot = Boot::running});
  rcu_synchronize(domain);
  EXPECT_EQ(domain.statistics().expedited, 1U);
  domain.end_boot();
  rcu_synchronize_expedited(domain);
  EXPECT_EQ(domain.statistics().normal, 1U);
}

TEST(GracePeriodKinds, ARefusedCommandLaterIsReplacedByTheOther) {
  test::FakeMembarrier membarrier;
  rcu_domain domain({.membarrier = &membarrier});
  membarrier.refuse(MEMBARRIER_CMD_GLOBAL, EPERM);
  const int before = membarrier.expedited();
  rcu_synchronize(domain);
  EXPECT_EQ(membarrier.expedited() - before, 1);
}

TEST(GracePeriodKinds, WithoutEitherCommandReadersFence) {
  for (const int missing : {int{MEMBARRIER_CMD_PRIVATE_EXPEDITED}, int{MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED},
                            test::FakeMembarrier::kQuery}) {
    test::FakeMembarrier membarrier;
    membarrier.refuse(missing, EPERM);
    const rcu_domain domain({.membarrier = &membarrier});
    EXPECT_TRUE(domain.readers_fence());
  }
  EXPECT_FALSE(rcu_domain().readers_fence()) << "this kernel has membarrier";
}

}  // namespace
}  // namespace unmoor::rcu
