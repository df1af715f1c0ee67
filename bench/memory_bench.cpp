// SPDX-License-Identifier: MIT
// Bytes of heap that a mount takes, with 8 shards of its count. Not a time: the counter `bytes` is the result. Every
// mount has a place of its own and a filesystem of its own; the user's Filesystem object is not counted.
#include <malloc.h>
#include <memory>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "bench/fixture.h"

namespace unmoor::bench {
namespace {

void memory(benchmark::State& state) {
  constexpr int kMounts = 20000;
  std::vector<std::shared_ptr<Directories>> filesystems;
  for (int i = 0; i < kMounts; ++i)
    filesystems.push_back(std::make_shared<Directories>());
  for (auto _ : state) {
    Tree tree({.count_shards = 8});
    const auto before = mallinfo2();
    for (int i = 0; i < kMounts; ++i) {
      // The user's one filesystem, bound: a mount without what a superblock costs.
      must(tree.ns.mount(filesystems[state.range(0) == 1 ? 0 : i], "fs", "/m" + std::to_string(i)));
    }
    const auto after = mallinfo2();
    const double bytes = static_cast<double>(after.uordblks + after.hblkhd - before.uordblks - before.hblkhd);
    state.counters["bytes"] = bytes / kMounts;
  }
}
BENCHMARK(memory)->Name("memory/one_filesystem")->Arg(1)->Iterations(1);
BENCHMARK(memory)->Name("memory/a_filesystem_each")->Arg(0)->Iterations(1);

}  // namespace
}  // namespace unmoor::bench
