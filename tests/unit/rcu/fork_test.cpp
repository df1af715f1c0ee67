// SPDX-License-Identifier: MIT
// fork() while other threads read, wait and reclaim: the child's domain works, and waits for nobody who is not there.
#include <atomic>
#include <latch>
#include <mutex>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "rcu/rcu.h"
#include "support/sanitizer.h"

namespace unmoor::rcu {
namespace {

#ifndef UNMOOR_TSAN  // its run time has no threads in the child of a threaded program

int exit_code_of(pid_t child) {
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// 0 when everything that the domain promises holds.
int use_in_child(rcu_domain& domain) {
  alarm(20);  // a hang ends the child, and the test
  int deleted = 0;
  rcu_synchronize(domain);
  rcu_synchronize_expedited(domain);
  int object = 0;
  rcu_retire(domain, &object, [&](int*) { ++deleted; });
  rcu_barrier(domain);
  std::thread([&] { const std::scoped_lock reading(domain); }).join();
  rcu_synchronize_expedited(domain);
  return deleted == 1 ? 0 : 1;
}

TEST(Fork, ChildDoesNotWaitForTheParentsReaders) {
  rcu_domain domain;
  std::latch entered(1);
  std::latch leave(1);
  std::thread reader([&] {
    const std::scoped_lock reading(domain);
    entered.count_down();
    leave.wait();
  });
  entered.wait();
  std::thread waiter([&] { rcu_synchronize_expedited(domain); });
  while (domain.statistics().waits == 0)
    std::this_thread::yield();
  const pid_t child = fork();
  if (child == 0) _exit(use_in_child(domain));
  leave.count_down();
  reader.join();
  waiter.join();
  EXPECT_EQ(exit_code_of(child), 0);
  EXPECT_EQ(use_in_child(domain), 0) << "and the parent's is as it was";
  alarm(0);
}

TEST(Fork, ChildRunsTheCallbacksThatWaited) {
  rcu_domain domain;
  std::atomic<int> deleted = 0;
  std::latch entered(1);
  std::latch leave(1);
  std::thread reader([&] {
    const std::scoped_lock reading(domain);
    entered.count_down();
    leave.wait();
  });
  entered.wait();
  int objects[3] = {};
  for (int& object : objects)
    rcu_retire(domain, &object, [&](int*) { ++deleted; });
  while (domain.statistics().waits == 0)
    std::this_thread::yield();
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    rcu_barrier(domain);
    _exit(deleted == 3 ? 0 : 1);
  }
  leave.count_down();
  reader.join();
  EXPECT_EQ(exit_code_of(child), 0);
  rcu_barrier(domain);
  EXPECT_EQ(deleted, 3);
}

TEST(Fork, InsideAReadSectionTheChildIsStillInside) {
  rcu_domain domain;
  domain.lock();
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    if (!domain.reading()) _exit(1);
    domain.unlock();
    _exit(use_in_child(domain));
  }
  domain.unlock();
  EXPECT_EQ(exit_code_of(child), 0);
}

#endif

}  // namespace
}  // namespace unmoor::rcu
