// SPDX-License-Identifier: MIT
#include <atomic>
#include <chrono>
#include <functional>
#include <latch>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "rcu/rcu.h"

namespace unmoor::rcu {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

struct Counted : rcu_obj_base<Counted> {
  explicit Counted(std::atomic<int>& deaths) : deaths_(deaths) {}
  ~Counted() { ++deaths_; }
  std::atomic<int>& deaths_;
};

// Something to do after a grace period.
struct Step : rcu_head {
  std::function<void()> run;
  void call(rcu_domain& domain) {
    rcu_call(domain, *this, [](rcu_head* head) noexcept { static_cast<Step*>(head)->run(); });
  }
};

TEST(Callbacks, RetiredObjectLivesWhileAReaderIsInside) {
  std::atomic<int> deaths = 0;
  rcu_domain domain;
  {
    const std::scoped_lock reading(domain);
    (new Counted(deaths))->retire(domain);  // also: retiring inside a section never waits
    std::this_thread::sleep_for(50ms);
    EXPECT_EQ(deaths, 0);
  }
  rcu_barrier(domain);
  EXPECT_EQ(deaths, 1);
  EXPECT_EQ(domain.statistics().retired, 1U);
  EXPECT_EQ(domain.statistics().reclaimed, 1U);
}

TEST(Callbacks, RetireOfAnyObjectUsesTheDeleter) {
  std::vector<int> deleted;
  rcu_domain domain;
  int object = 7;
  rcu_retire(domain, &object, [&](const int* what) { deleted.push_back(*what); });
  rcu_barrier(domain);
  EXPECT_THAT(deleted, ElementsAre(7));
}

TEST(Callbacks, RunInOrderAndOneAtATime) {
  rcu_domain domain;
  std::vector<int> order;
  std::vector<Step> steps(50);
  for (int i = 0; i < 50; ++i) {
    steps[i].run = [&order, i] { order.push_back(i); };
    steps[i].call(domain);
  }
  rcu_barrier(domain);
  ASSERT_EQ(order.size(), 50U);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

// record.md's two-list rule: what arrives during a grace period gets a full one of its own.
TEST(Callbacks, OneThatArrivesDuringAGracePeriodGetsItsOwn) {
  rcu_domain domain({.modes = {.expedited = true}});
  std::latch first_entered(1);
  std::latch first_leave(1);
  std::thread first([&] {
    const std::scoped_lock reading(domain);
    first_entered.count_down();
    first_leave.wait();
  });
  first_entered.wait();
  Step early;
  std::atomic<bool> early_ran = false;
  early.run = [&] { early_ran = true; };
  early.call(domain);
  while (domain.statistics().waits == 0)
    std::this_thread::sleep_for(1ms);
  std::this_thread::sleep_for(5ms);  // its grace period has begun, and waits for `first`

  std::latch second_entered(1);
  std::latch second_leave(1);
  std::thread second([&] {
    const std::scoped_lock reading(domain);
    second_entered.count_down();
    second_leave.wait();
  });
  second_entered.wait();
  Step late;
  std::atomic<bool> late_ran = false;
  late.run = [&] { late_ran = true; };
  late.call(domain);

  first_leave.count_down();
  first.join();
  while (!early_ran)
    std::this_thread::sleep_for(1ms);
  std::this_thread::sleep_for(30ms);
  EXPECT_FALSE(late_ran) << "`second` began before `late` was handed in, and still reads";
  second_leave.count_down();
  second.join();
  rcu_barrier(domain);
  EXPECT_TRUE(late_ran);
}

TEST(Callbacks, ManyShareAGracePeriod) {
  rcu_domain domain({.modes = {.expedited = true}});
  std::atomic<int> deaths = 0;
  {
    const std::scoped_lock reading(domain);
    for (int i = 0; i < 1000; ++i)
      (new Counted(deaths))->retire(domain);
  }
  rcu_barrier(domain);
  EXPECT_EQ(deaths, 1000);
  EXPECT_LE(domain.statistics().expedited, 2U);
}

TEST(Callbacks, MayHandInMoreAndSynchronize) {
  rcu_domain domain;
  int rounds = 0;
  Step step;
  step.run = [&] {
    EXPECT_TRUE(domain.in_callback());
    rcu_synchronize_expedited(domain);
    if (++rounds < 5) step.call(domain);
  };
  step.call(domain);
  while (domain.statistics().reclaimed < 5)
    rcu_barrier(domain);
  EXPECT_EQ(rounds, 5);
  EXPECT_FALSE(domain.in_callback());
}

TEST(Callbacks, EndOfTheDomainRunsThem) {
  std::atomic<int> deaths = 0;
  {
    rcu_domain domain;
    for (int i = 0; i < 10; ++i)
      (new Counted(deaths))->retire(domain);
  }
  EXPECT_EQ(deaths, 10);
}

}  // namespace
}  // namespace unmoor::rcu
