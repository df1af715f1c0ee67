// SPDX-License-Identifier: MIT
// One mount and one unmount that propagate to N peers: the cost must be linear in N.
#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>

#include "bench/fixture.h"

namespace unmoor::bench {
namespace {

using Clock = std::chrono::steady_clock;

// "/p" and its binds: `peers` mounts in one peer group.
Tree make_peers(std::int64_t peers) {
  Tree tree({.mount_max = 1000000});
  must(tree.ns.mount(std::make_shared<Directories>(), "fs", "/p"));
  must(tree.ns.change_propagation("/p", tree::Propagation::kShared));
  for (std::int64_t i = 1; i < peers; ++i)
    must(tree.ns.bind("/p", "/m" + std::to_string(i)));
  return tree;
}

enum class Timed : std::uint8_t { kAttach, kUmount };

template <Timed kTimed>
void propagate(benchmark::State& state) {
  Tree tree = make_peers(state.range(0));
  std::vector<double> samples;
  const auto record = [&](Clock::time_point start) {
    samples.push_back(std::chrono::duration<double>(Clock::now() - start).count());
    state.SetIterationTime(samples.back());
  };
  for (auto _ : state) {
    // What the round before left to be freed: not to be paid for by this one.
    while (tree.universe.stats().unretired != 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    auto start = Clock::now();
    must(tree.ns.mount(std::make_shared<Directories>(), "x", "/p/x"));
    if (kTimed == Timed::kAttach) record(start);
    start = Clock::now();
    must(tree.ns.umount("/p/x"));
    if (kTimed == Timed::kUmount) record(start);
  }
  // One round that the machine disturbs moves a mean by half.
  const auto middle = samples.begin() + std::ssize(samples) / 2;
  std::nth_element(samples.begin(), middle, samples.end());
  state.counters["ns_a_peer"] = *middle * 1e9 / static_cast<double>(state.range(0));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(propagate<Timed::kAttach>)->Name("propagate_attach")->Arg(10000)->Arg(20000)->UseManualTime()->Iterations(31);
BENCHMARK(propagate<Timed::kUmount>)->Name("propagate_umount")->Arg(10000)->Arg(20000)->UseManualTime()->Iterations(31);

}  // namespace
}  // namespace unmoor::bench
