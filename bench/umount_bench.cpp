// SPDX-License-Identifier: MIT
// What a caller of umount waits, by policy, while another thread reads in sections of 100 us.
#include <chrono>
#include <memory>
#include <sched.h>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "bench/fixture.h"

namespace unmoor::bench {
namespace {

using Clock = std::chrono::steady_clock;
using tree::ReleasePolicy;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Clock::time_point soon() {
  return Clock::now() + std::chrono::seconds(30);
}

// Keeps the calling thread on one CPU, if there is such a one.
void keep_on(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof set, &set);
}

// Reads in sections of 100 us on a CPU of its own. (On the umounter's it would be put aside just when it has left a
// section and woken the umounter, and no grace period would ever wait.)
class ReaderBeside {
 public:
  explicit ReaderBeside(Tree& tree)
      : beside_([&tree, kept = false]() mutable {
          if (!kept) keep_on(1);
          kept = true;
          must(tree.ns.visit("/", [](const tree::Visit&) { spin_for(std::chrono::microseconds(100)); }));
        }) {
    sched_getaffinity(0, sizeof before_, &before_);
    keep_on(0);
  }
  ~ReaderBeside() { sched_setaffinity(0, sizeof before_, &before_); }
  ReaderBeside(const ReaderBeside&) = delete;
  ReaderBeside& operator=(const ReaderBeside&) = delete;

 private:
  cpu_set_t before_{};
  Beside beside_;
};

template <ReleasePolicy kPolicy>
void umount_idle(benchmark::State& state) {
  Tree tree({.policy = kPolicy});
  const ReaderBeside reader(tree);
  const std::uint64_t before = tree.universe.stats().grace_periods;
  for (auto _ : state) {
    must(tree.ns.mount(std::make_shared<Directories>(), "fs", "/m"));
    const auto start = Clock::now();
    must(tree.ns.umount("/m"));
    state.SetIterationTime(seconds_since(start));
  }
  state.counters["grace_periods"] = benchmark::Counter(
      static_cast<double>(tree.universe.stats().grace_periods - before), benchmark::Counter::kAvgIterations);
}
BENCHMARK(umount_idle<ReleasePolicy::kSynchronous>)->Name("umount_idle/synchronous")->UseManualTime()->Iterations(2000);
BENCHMARK(umount_idle<ReleasePolicy::kDeferred>)->Name("umount_idle/deferred")->UseManualTime()->Iterations(2000);
BENCHMARK(umount_idle<ReleasePolicy::kOnDemand>)->Name("umount_idle/on_demand")->UseManualTime()->Iterations(2000);

template <ReleasePolicy kPolicy>
void umount_held(benchmark::State& state) {
  Tree tree({.policy = kPolicy});
  const ReaderBeside reader(tree);
  for (auto _ : state) {
    must(tree.ns.mount(std::make_shared<Directories>(), "fs", "/m"));
    tree::Pin holder = must(tree.ns.pin("/m"));
    const auto start = Clock::now();
    must(tree.ns.umount("/m", tree::UmountFlags::kDetach));
    state.SetIterationTime(seconds_since(start));
    holder.reset();
  }
  must(tree.universe.drain(soon()));
}
BENCHMARK(umount_held<ReleasePolicy::kSynchronous>)
    ->Name("umount_lazy_held/synchronous")
    ->UseManualTime()
    ->Iterations(2000);
BENCHMARK(umount_held<ReleasePolicy::kDeferred>)->Name("umount_lazy_held/deferred")->UseManualTime()->Iterations(2000);
BENCHMARK(umount_held<ReleasePolicy::kOnDemand>)->Name("umount_lazy_held/on_demand")->UseManualTime()->Iterations(2000);

// 1,000 held mounts, one after the other, until everything is gone: how many grace periods?
template <ReleasePolicy kPolicy>
void umount_held_1000(benchmark::State& state) {
  Tree tree({.policy = kPolicy});
  const ReaderBeside reader(tree);
  std::uint64_t grace_periods = 0;
  for (auto _ : state) {
    std::vector<tree::Pin> holders;
    for (int i = 0; i < 1000; ++i) {
      const std::string path = "/m" + std::to_string(i);
      must(tree.ns.mount(std::make_shared<Directories>(), "fs", path));
      holders.push_back(must(tree.ns.pin(path)));
    }
    const std::uint64_t before = tree.universe.stats().grace_periods;
    const auto start = Clock::now();
    for (int i = 0; i < 1000; ++i)
      must(tree.ns.umount("/m" + std::to_string(i), tree::UmountFlags::kDetach));
    state.SetIterationTime(seconds_since(start));
    while (tree.universe.stats().backlog != 0)
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    grace_periods += tree.universe.stats().grace_periods - before;
    holders.clear();
  }
  state.counters["grace_periods"] =
      benchmark::Counter(static_cast<double>(grace_periods), benchmark::Counter::kAvgIterations);
}
BENCHMARK(umount_held_1000<ReleasePolicy::kSynchronous>)
    ->Name("umount_lazy_held_1000/synchronous")
    ->UseManualTime()
    ->Iterations(3);
BENCHMARK(umount_held_1000<ReleasePolicy::kDeferred>)
    ->Name("umount_lazy_held_1000/deferred")
    ->UseManualTime()
    ->Iterations(3);
BENCHMARK(umount_held_1000<ReleasePolicy::kOnDemand>)
    ->Name("umount_lazy_held_1000/on_demand")
    ->UseManualTime()
    ->Iterations(3);

// One lazy umount of 100,000 mounts below one: all side by side, or in chains of 1,000, each mount below the one
// before.
enum class Shape : std::uint8_t { kWide, kDeep };

template <Shape kShape>
void umount_tree(benchmark::State& state) {
  constexpr int kMounts = 100000;
  constexpr int kChain = 1000;
  Tree tree({.mount_max = 2 * kMounts});
  for (auto _ : state) {
    must(tree.ns.mount(std::make_shared<Directories>(), "top", "/t"));
    std::string path;
    for (int i = 1; i < kMounts; ++i) {
      if (kShape == Shape::kDeep && i % kChain != 1) {
        path += "/x";
      } else {
        path = "/t/" + std::to_string(i);
      }
      must(tree.ns.mount(std::make_shared<Directories>(), "fs", path));
    }
    const auto start = Clock::now();
    must(tree.ns.umount("/t", tree::UmountFlags::kDetach));
    const double taken = seconds_since(start);
    state.SetIterationTime(taken);
    state.counters["ns_a_mount"] = taken * 1e9 / kMounts;
    must(tree.universe.drain(soon()));
  }
}
BENCHMARK(umount_tree<Shape::kWide>)
    ->Name("umount_lazy_100000/wide")
    ->UseManualTime()
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(umount_tree<Shape::kDeep>)
    ->Name("umount_lazy_100000/deep")
    ->UseManualTime()
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace unmoor::bench
