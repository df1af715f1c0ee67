// SPDX-License-Identifier: MIT
// Which mount is at a path, five mounts deep, among 1,000 mounts: the tree's visit(), what people write instead (a map
// from mountpoints to mounts behind a mutex or a shared_mutex), and the kernel.
//
// The maps do less than the tree: no "..", no mounts on the root of a mount, no attributes, and the path is looked up
// as one string. The writer of each mounts and unmounts on one place as fast as it can.
#include <fcntl.h>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <sys/stat.h>
#include <vector>

#include <benchmark/benchmark.h>

#include "bench/fixture.h"
#include "bench/kernel_mounts.h"

namespace unmoor::bench {

std::string chain_path(int chain, int depth) {
  std::string path = "/c" + std::to_string(chain);
  for (int i = 2; i <= depth; ++i)
    path += "/d" + std::to_string(i);
  return path;
}

namespace {

constexpr const char* kWritersPlace = "/w";

class TreeTable {
 public:
  TreeTable() : tree_({}) {
    for (int chain = 0; chain < kChains; ++chain) {
      for (int depth = 1; depth <= kDepth; ++depth)
        mount(chain_path(chain, depth));
    }
  }
  [[nodiscard]] std::uint64_t find(const std::string& path) const {
    return *tree_.ns.visit(path, [](const tree::Visit& at) { return static_cast<std::uint64_t>(at.mount); });
  }
  void mount(const std::string& path) { must(tree_.ns.mount(std::make_shared<Directories>(), "fs", path)); }
  void umount(const std::string& path) { must(tree_.ns.umount(path)); }

 private:
  Tree tree_;
};

// What somebody would write who needs to know the mount at a path: the longest prefix that is a mountpoint.
template <class Mutex, class ReadLock>
class MapTable {
 public:
  MapTable() {
    for (int chain = 0; chain < kChains; ++chain) {
      for (int depth = 1; depth <= kDepth; ++depth)
        mount(chain_path(chain, depth));
    }
  }
  [[nodiscard]] std::uint64_t find(const std::string& path) const {
    const ReadLock lock(mutex_);
    for (std::string_view at = path; !at.empty(); at = at.substr(0, at.rfind('/'))) {
      if (const auto found = mounts_.find(at); found != mounts_.end()) return found->second.id;
    }
    return 0;
  }
  void mount(const std::string& path) {
    Entry entry{.id = 0, .filesystem = std::make_shared<Directories>()};
    const std::scoped_lock lock(mutex_);
    entry.id = ++last_;
    mounts_.emplace(path, std::move(entry));
  }
  void umount(const std::string& path) {
    std::shared_ptr<tree::Filesystem> gone;
    const std::scoped_lock lock(mutex_);
    const auto found = mounts_.find(path);
    gone = std::move(found->second.filesystem);
    mounts_.erase(found);
  }

 private:
  struct Entry {
    std::uint64_t id;
    std::shared_ptr<tree::Filesystem> filesystem;
  };
  mutable Mutex mutex_;
  std::map<std::string, Entry, std::less<>> mounts_;
  std::uint64_t last_ = 0;
};

using MutexMap = MapTable<std::mutex, std::scoped_lock<std::mutex>>;
using SharedMutexMap = MapTable<std::shared_mutex, std::shared_lock<std::shared_mutex>>;

std::vector<std::string> paths() {
  std::vector<std::string> all;
  for (int chain = 0; chain < kChains; ++chain)
    all.push_back(chain_path(chain));
  return all;
}

enum class Writer : std::uint8_t { kNone, kOne };

// Shared by the reading threads of one run; thread 0 makes and ends it.
template <class Table>
struct Shared {
  std::unique_ptr<Table> table;
  std::optional<Beside> writer;
};

template <class Table, Writer kWriter>
void lookup(benchmark::State& state) {
  static Shared<Table> shared;
  if (state.thread_index() == 0) {
    shared.table = std::make_unique<Table>();
    if constexpr (kWriter == Writer::kOne) {
      Table& table = *shared.table;
      shared.writer.emplace([&table] {
        table.mount(kWritersPlace);
        table.umount(kWritersPlace);
      });
    }
  }
  const std::vector<std::string> all = paths();
  std::size_t next = 0;
  const std::uint64_t before = shared.writer ? shared.writer->steps() : 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(shared.table->find(all[next]));
    if (++next == all.size()) next = 0;
  }
  state.SetItemsProcessed(state.iterations());
  if (state.thread_index() == 0) {
    if (shared.writer) {
      const auto steps = static_cast<double>(shared.writer->steps() - before);
      state.counters["mounts_and_umounts"] = benchmark::Counter(steps, benchmark::Counter::kIsRate);
    }
    shared.writer.reset();
    shared.table.reset();
  }
}

BENCHMARK(lookup<TreeTable, Writer::kNone>)->Name("lookup/tree")->Threads(1)->Threads(2)->UseRealTime();
BENCHMARK(lookup<MutexMap, Writer::kNone>)->Name("lookup/mutex_map")->Threads(1)->Threads(2)->UseRealTime();
BENCHMARK(lookup<SharedMutexMap, Writer::kNone>)
    ->Name("lookup/shared_mutex_map")
    ->Threads(1)
    ->Threads(2)
    ->UseRealTime();
BENCHMARK(lookup<TreeTable, Writer::kOne>)->Name("lookup_beside_writer/tree")->Threads(1)->UseRealTime();
BENCHMARK(lookup<MutexMap, Writer::kOne>)->Name("lookup_beside_writer/mutex_map")->Threads(1)->UseRealTime();
BENCHMARK(lookup<SharedMutexMap, Writer::kOne>)
    ->Name("lookup_beside_writer/shared_mutex_map")
    ->Threads(1)
    ->UseRealTime();

void lookup_kernel(benchmark::State& state) {
  if (!has_kernel_mounts()) {
    state.SkipWithError("needs a private mount namespace: not allowed here");
    return;
  }
  std::vector<std::string> all = paths();
  for (std::string& path : all)
    path.erase(0, 1);  // from the working directory
  std::size_t next = 0;
  for (auto _ : state) {
    struct statx found{};
    if (statx(AT_FDCWD, all[next].c_str(), AT_STATX_DONT_SYNC, STATX_MNT_ID, &found) != 0) std::abort();
    benchmark::DoNotOptimize(found.stx_mnt_id);
    if (++next == all.size()) next = 0;
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(lookup_kernel)->Name("lookup/kernel_statx")->UseRealTime();

void pin(benchmark::State& state) {
  Tree tree({});
  must(tree.ns.mount(std::make_shared<Directories>(), "fs", "/m"));
  for (auto _ : state)
    benchmark::DoNotOptimize(*tree.ns.pin("/m"));
}
BENCHMARK(pin)->Name("pin/tree");

}  // namespace
}  // namespace unmoor::bench
