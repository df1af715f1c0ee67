// SPDX-License-Identifier: MIT
// The scan of all processes, with a kernel that misbehaves.
#include "gone/scan.h"

#include <cstring>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gone/inquiry.h"
#include "support/failing_calls.h"
#include "sync/mutex.h"
#include "sync/never_destroyed.h"

namespace unmoor::gone {
namespace {

// Every read of some process's maps waits until it is told to go on: its address space is locked.
class StuckMaps : public kernel::SystemCalls {
 public:
  [[nodiscard]] long call(long number, long a, long b, long c, long d, long e, long f) const noexcept override {
    if (number == SYS_openat && std::strcmp(reinterpret_cast<const char*>(b), "maps") == 0) {
      MutexLock lock(mutex_);
      while (!free_)
        changed_.wait(mutex_);
      return -ESRCH;
    }
    return SystemCalls::call(number, a, b, c, d, e, f);
  }
  void release() {
    const MutexLock lock(mutex_);
    free_ = true;
    changed_.notify_all();
  }

 private:
  mutable Mutex mutex_;
  mutable CondVar changed_;
  bool free_ UNMOOR_GUARDED_BY(mutex_) = false;
};

Target whole_root(const Census& census) {
  return *resolve_target(census, "/", AskFor::kFilesystem);
}

TEST(Scan, GivesUpProcessesThatAreStuckAndSaysSo) {
  // It outlives the test: the threads that were given up still use it.
  static NeverDestroyed<StuckMaps> forever;
  StuckMaps& calls = *forever;
  Result<Census> census = Census::take(calls);
  ASSERT_TRUE(census);
  auto shared = std::make_shared<Census>(std::move(*census));
  const auto before = std::chrono::steady_clock::now();
  const Result<Inquiry> inquiry = inquire(shared, {whole_root(*shared)});
  const auto took = std::chrono::steady_clock::now() - before;
  calls.release();
  ASSERT_TRUE(inquiry);
  EXPECT_LT(took, std::chrono::seconds(2));
  EXPECT_THAT(inquiry->notes, testing::Contains(testing::HasSubstr("stuck in the kernel")));
}

TEST(Scan, SurvivesAnyFailingCall) {
  // Every 19th call, so that each kind is met; the answer may be poorer, never a crash, and errors are errors.
  for (int nth = 1; nth < 400; nth += 19) {
    const test::FailingCalls calls(nth, ENOMEM);
    Result<Census> census = Census::take(calls);
    if (!census) {
      EXPECT_EQ(census.error().code, ENOMEM);
      continue;
    }
    auto shared = std::make_shared<Census>(std::move(*census));
    const Result<Target> target = resolve_target(*shared, "/", AskFor::kFilesystem);
    if (target) {
      EXPECT_TRUE(inquire(shared, {*target}, {.threads = 1}));
    }
  }
}

// kcmp(2) needs CONFIG_KCMP; NS_MNT_GET_NEXT Linux 6.12; sock_diag may be a module that is not there.
TEST(Scan, FindsItsOwnDescriptorOnAKernelWithoutNewerCalls) {
  class OldKernel : public kernel::SystemCalls {
   public:
    [[nodiscard]] long call(long number, long a, long b, long c, long d, long e, long f) const noexcept override {
      if (number == SYS_kcmp) return -ENOSYS;
      if (number == SYS_ioctl) return -ENOTTY;
      if (number == SYS_socket && a == 16) return -EPROTONOSUPPORT;
      return SystemCalls::call(number, a, b, c, d, e, f);
    }
  };
  const OldKernel calls;
  const kernel::UniqueFd open(static_cast<int>(calls.open("/", O_RDONLY | O_DIRECTORY)));
  Result<Census> census = Census::take(calls);
  ASSERT_TRUE(census);
  auto shared = std::make_shared<Census>(std::move(*census));
  const Result<Inquiry> inquiry = inquire(shared, {*resolve_target(*shared, "/", AskFor::kWhatItNames)});
  ASSERT_TRUE(inquiry);
  const bool found = std::ranges::any_of(inquiry->answers[0].holders, [&](const Holder& holder) {
    return holder.pid == getpid() && holder.tid == 0 && holder.descriptor == open.get();
  });
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace unmoor::gone
