// SPDX-License-Identifier: MIT
// A test that runs under normal and under expedited grace periods, with a loop device it may use.
#pragma once

#include <cstdlib>
#include <optional>

#include "kernel/detach/scratch.h"
#include "measure/rcu_guard.h"
#include "support/loop_device.h"

namespace unmoor::test {

inline int detach_rounds() {
  return std::getenv("UNMOOR_LONG") != nullptr ? 100 : 10;
}

class UnderGracePeriods : public DetachTest, public testing::WithParamInterface<int> {
 protected:
  void SetUp() override {
    DetachTest::SetUp();
    if (IsSkipped()) return;
    measure::RcuGuard::Options options;
    options.knobs.normal = GetParam();
    options.wait_for_lock = std::chrono::seconds(60);
    auto guard = measure::RcuGuard::set(options);
    if (!guard) GTEST_SKIP() << "needs root: to choose the kind of grace periods";
    guard_.emplace(std::move(*guard));
  }
  void TearDown() override {
    guard_.reset();
    device_.reset();
    DetachTest::TearDown();
  }

  bool make_device() {
    device_.emplace("backing");
    return device_->ready() && device_->make_ext4();
  }
  const std::string& node() const { return device_->node(); }
  bool is_free() const {
    const int fd = open(node().c_str(), O_RDWR | O_EXCL | O_CLOEXEC);
    if (fd >= 0) close(fd);
    return fd >= 0;
  }
  bool mount_device(const char* path) const {
    mkdir(path, 0755);
    return mount(node().c_str(), path, "ext4", 0, nullptr) == 0;
  }
  static bool let_go(const char* path, detach::Defer defer = detach::Defer::kAuto,
                     detach::Caller caller = detach::Caller::kProgram) {
    return detach::detach_one(kernel::SystemCalls::real(), path, MNT_DETACH, {.defer = defer, .caller = caller})
        .has_value();
  }

 private:
  std::optional<LoopDevice> device_;
  std::optional<measure::RcuGuard> guard_;
};

}  // namespace unmoor::test
