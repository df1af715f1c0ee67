// SPDX-License-Identifier: MIT
// Everything at once: walkers, pinners, mounters, plain and lazy unmounters, copies of namespaces, with propagation
// between them. In the end: every filesystem was shut down exactly once, none while it was pinned, nothing is left, the
// backlog stayed bounded. Under ThreadSanitizer and AddressSanitizer: no report.
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <unmoor/tree/tree.h>

#include "support/sanitizer.h"

namespace unmoor::tree {
namespace {

using namespace std::chrono_literals;

constexpr int kDirectories = 6;

std::string place(unsigned number) {
  return "/" + std::to_string(number % kDirectories);
}

// Filesystems that have not been destroyed; shared, for those that a lost mount leaves behind.
using Alive = std::shared_ptr<std::atomic<int>>;

// Directories /0 to /5 at two levels. Counts what happens to it.
class CountedFilesystem : public Filesystem {
 public:
  explicit CountedFilesystem(Alive alive) : alive_(std::move(alive)) { ++*alive_; }
  ~CountedFilesystem() override {
    EXPECT_EQ(shutdowns_, refused ? 0 : 1);
    --*alive_;
  }
  [[nodiscard]] FileKind kind(std::string_view path) const noexcept override {
    const bool directory = path == "/" || ((path.size() == 2 || path.size() == 4) && path[0] == '/');
    return directory ? FileKind::kDirectory : FileKind::kNothing;
  }
  void shutdown() override {
    EXPECT_EQ(pins.load(), 0) << "shut down under a pin";
    EXPECT_EQ(shutdowns_++, 0) << "shut down twice";
  }

  std::atomic<int> pins{0};
  std::atomic<bool> refused{false};  // never mounted, so never shut down

 private:
  const Alive alive_;
  std::atomic<int> shutdowns_{0};
};

std::chrono::milliseconds length() {
  return std::getenv("UNMOOR_LONG") != nullptr ? 20000ms : 2000ms;
}

struct Outcome {
  int alive = 0;               // filesystems that were never shut down and freed
  std::uint64_t detached = 0;  // mounts that were never released
  Stats stats;
};

Outcome stress(ReleasePolicy policy, Propagation propagation, std::chrono::milliseconds time) {
  const Alive alive = std::make_shared<std::atomic<int>>(0);
  Outcome outcome;
  {
    UniverseOptions options;
    options.policy = policy;
    options.backlog_max = 256;
    Universe universe = Universe::create(options).value();
    {
      MountNamespace ns = universe.create_namespace(std::make_shared<CountedFilesystem>(alive), "root").value();
      EXPECT_TRUE(ns.change_propagation("/", propagation));
      std::atomic<bool> stop{false};
      std::vector<std::thread> threads;
      const auto worker = [&](unsigned seed, auto body) {
        threads.emplace_back([&stop, seed, body] {
          std::mt19937 random(seed);
          while (!stop)
            body(random);
        });
      };
      // Mounts one or two levels deep.
      worker(1, [&](std::mt19937& random) {
        const std::string where = place(random()) + (random() % 2 == 0 ? place(random()) : "");
        const auto filesystem = std::make_shared<CountedFilesystem>(alive);
        if (const auto mounted = ns.mount(filesystem, "fs", where); !mounted) {
          // Shared trees bound into each other grow until the namespace is full.
          EXPECT_EQ(mounted.error().code, ENOSPC) << mounted.error().why;
          filesystem->refused = true;
        }
        if (random() % 4 == 0) static_cast<void>(ns.bind(place(random()), place(random()), Recursion::kTree));
        if (random() % 16 == 0) static_cast<void>(ns.move(place(random()), place(random())));
      });
      worker(2, [&](std::mt19937& random) { static_cast<void>(ns.umount(place(random()), UmountFlags::kDetach)); });
      worker(3, [&](std::mt19937& random) {
        static_cast<void>(ns.umount(place(random()) + place(random())));
        static_cast<void>(ns.umount(place(random())));
      });
      worker(4, [&](std::mt19937& random) {
        Result<MountNamespace> copy = ns.copy();
        if (!copy) return;
        static_cast<void>(copy->umount(place(random()), UmountFlags::kDetach));
        std::this_thread::sleep_for(1ms);
      });
      for (unsigned i = 0; i < 2; ++i) {
        worker(5 + i, [&](std::mt19937& random) {
          std::vector<Pin> pins;
          for (int n = 0; n < 4; ++n) {
            Result<Pin> pin = ns.pin(place(random()) + place(random()));
            if (!pin) continue;
            auto& filesystem = static_cast<CountedFilesystem&>(pin->filesystem());
            ++filesystem.pins;
            pins.push_back(*pin);  // a copy, perhaps on another CPU
            pin->reset();
            if (random() % 8 == 0) std::this_thread::yield();
          }
          for (Pin& pin : pins) {
            --static_cast<CountedFilesystem&>(pin.filesystem()).pins;
            pin.reset();
          }
        });
        worker(7 + i, [&](std::mt19937& random) {
          static_cast<void>(ns.visit(place(random()) + place(random()), [](const Visit& visit) {
            EXPECT_EQ(visit.kind, FileKind::kDirectory);
            return visit.filesystem.kind(visit.path);
          }));
        });
      }
      std::this_thread::sleep_for(time);
      stop = true;
      for (std::thread& thread : threads)
        thread.join();
    }
    static_cast<void>(
        universe.drain(std::chrono::steady_clock::now() + (policy == ReleasePolicy::kSkipWait ? 100ms : 30s)));
    outcome.stats = universe.stats();
    outcome.detached = outcome.stats.detached;
  }
  // The last thread of the pool may be the one that takes the universe down.
  const auto limit = std::chrono::steady_clock::now() + (policy == ReleasePolicy::kSkipWait ? 100ms : 60s);
  while (*alive != 0 && std::chrono::steady_clock::now() < limit)
    std::this_thread::sleep_for(1ms);
  outcome.alive = *alive;
  return outcome;
}

class StressTest : public testing::TestWithParam<std::tuple<ReleasePolicy, Propagation>> {};

TEST_P(StressTest, NothingIsLostAndNothingIsShutDownTwice) {
  const auto [policy, propagation] = GetParam();
  const Outcome outcome = stress(policy, propagation, length());
  EXPECT_EQ(outcome.detached, 0U);
  EXPECT_EQ(outcome.alive, 0);
  EXPECT_GT(outcome.stats.shutdowns, 10U);
  EXPECT_EQ(outcome.stats.backlog, 0U);
  RecordProperty("shutdowns", std::to_string(outcome.stats.shutdowns));
}

std::string name_of(const testing::TestParamInfo<std::tuple<ReleasePolicy, Propagation>>& info) {
  const ReleasePolicy policy = std::get<0>(info.param);
  std::string name = policy == ReleasePolicy::kSynchronous ? "Synchronous"
                     : policy == ReleasePolicy::kDeferred  ? "Deferred"
                                                           : "OnDemand";
  return name + (std::get<1>(info.param) == Propagation::kShared ? "Shared" : "Private");
}

// Jan Kara's trace against RFC v3, made likely: holders that let go while lazy unmounts run, until a mount is lost or
// the time is over. The same storm leaves nothing behind with OnDemand. (docs/model.md has the trace step by step.)
int lost_in_a_storm_of_holders(ReleasePolicy policy, std::chrono::milliseconds time) {
  const Alive alive = std::make_shared<std::atomic<int>>(0);
  std::uint64_t lost = 0;
  {
    UniverseOptions options;
    options.policy = policy;
    Universe universe = Universe::create(options).value();
    MountNamespace ns = universe.create_namespace(std::make_shared<CountedFilesystem>(alive), "root").value();
    std::atomic<bool> stop{false};
    std::vector<std::thread> holders;
    for (int i = 0; i < 3; ++i) {
      holders.emplace_back([&] {
        while (!stop)
          static_cast<void>(ns.pin("/0"));
      });
    }
    const auto limit = std::chrono::steady_clock::now() + time;
    while (lost == 0 && std::chrono::steady_clock::now() < limit) {
      for (int i = 0; i < 200; ++i) {
        static_cast<void>(ns.mount(std::make_shared<CountedFilesystem>(alive), "fs", "/0"));
        static_cast<void>(ns.umount("/0", UmountFlags::kDetach));
      }
      // A mount that nobody holds and nobody will release: nothing is running that could.
      if (!universe.drain(std::chrono::steady_clock::now() + 50ms)) {
        std::uint64_t held = 0;
        for (const PendingRelease& pending : universe.pending()) {
          held += pending.state == PendingRelease::State::kHeld ? 1 : 0;
        }
        lost = held;
      }
    }
    stop = true;
    for (std::thread& holder : holders)
      holder.join();
    static_cast<void>(universe.drain(std::chrono::steady_clock::now() + 1s));
    lost = universe.stats().detached;
  }
  return static_cast<int>(lost);
}

TEST(StormOfHolders, OnDemandLosesNothing) {
  EXPECT_EQ(lost_in_a_storm_of_holders(ReleasePolicy::kOnDemand, 2 * length()), 0);
}

TEST(StormOfHolders, SkipWaitIsCaught) {
#if defined(UNMOOR_ASAN)
  GTEST_SKIP() << "needs a build without leak check: it leaks, which is what it shows";
#endif
  // Mostly within a second; a loaded machine may not preempt a holder at the right place for many.
  EXPECT_GT(lost_in_a_storm_of_holders(ReleasePolicy::kSkipWait, std::chrono::seconds(45)), 0);
}

INSTANTIATE_TEST_SUITE_P(Policies, StressTest,
                         testing::Combine(testing::Values(ReleasePolicy::kSynchronous, ReleasePolicy::kDeferred,
                                                          ReleasePolicy::kOnDemand),
                                          testing::Values(Propagation::kPrivate, Propagation::kShared)),
                         name_of);

}  // namespace
}  // namespace unmoor::tree
