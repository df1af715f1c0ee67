// SPDX-License-Identifier: MIT
// The pool under many shutdowns at once.
#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <unmoor/tree/tree.h>

namespace unmoor::tree {
namespace {

using namespace std::chrono_literals;

class CountedShutdown : public Filesystem {
 public:
  explicit CountedShutdown(std::atomic<int>& count) : count_(count) {}
  [[nodiscard]] FileKind kind(std::string_view) const noexcept override { return FileKind::kDirectory; }
  void shutdown() override { ++count_; }

 private:
  std::atomic<int>& count_;
};

// Each worker that found another job waiting doubled the number of workers that it called the next time, without end:
// after some forty quick shutdowns in a row it did nothing else any more, and held the pool's lock.
TEST(ReleasePool, DoublingOfHelpersHasAnEnd) {
  constexpr int kMounts = 3000;
  std::atomic<int> shutdowns = 0;
  Universe universe = Universe::create({.policy = ReleasePolicy::kDeferred}).value();
  MountNamespace ns = universe.create_namespace(std::make_shared<CountedShutdown>(shutdowns), "root").value();
  ASSERT_TRUE(ns.mount(std::make_shared<CountedShutdown>(shutdowns), "top", "/t"));
  for (int i = 1; i < kMounts; ++i) {
    ASSERT_TRUE(ns.mount(std::make_shared<CountedShutdown>(shutdowns), "fs", "/t/" + std::to_string(i)));
  }
  ASSERT_TRUE(ns.umount("/t", UmountFlags::kDetach));
  EXPECT_TRUE(universe.drain(std::chrono::steady_clock::now() + 20s));
  EXPECT_EQ(shutdowns, kMounts);
}

}  // namespace
}  // namespace unmoor::tree
