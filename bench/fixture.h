// SPDX-License-Identifier: MIT
// What the benchmarks share: a filesystem of nothing but directories, a tree of 1,000 mounts, and threads that disturb.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include <unmoor/tree/tree.h>

namespace unmoor::bench {

class Directories : public tree::Filesystem {
 public:
  [[nodiscard]] tree::FileKind kind(std::string_view) const noexcept override { return tree::FileKind::kDirectory; }
  void shutdown() override {}
};

// Of a Result that cannot fail here.
template <class T>
T must(tree::Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "the tree refused: %s: %s\n", strerrorname_np(result.error().code), result.error().why);
    std::abort();
  }
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

struct Tree {
  explicit Tree(const tree::UniverseOptions& options)
      : universe(must(tree::Universe::create(options))),
        ns(must(universe.create_namespace(std::make_shared<Directories>(), "root"))) {}
  tree::Universe universe;
  tree::MountNamespace ns;
};

// 200 chains of 5 mounts, each on a directory of the one before: 1,000 mounts; `chain_path(i)` is the innermost.
inline constexpr int kChains = 200;
inline constexpr int kDepth = 5;
std::string chain_path(int chain, int depth = kDepth);

// Runs `step` again and again beside the benchmark.
class Beside {
 public:
  explicit Beside(std::function<void()> step)
      : thread_([this, step = std::move(step)] {
          while (!stop_.load(std::memory_order_relaxed)) {
            step();
            steps_.fetch_add(1, std::memory_order_relaxed);
            running_.store(true, std::memory_order_release);
          }
        }) {
    while (!running_.load(std::memory_order_acquire))
      std::this_thread::yield();
  }
  ~Beside() {
    stop_ = true;
    thread_.join();
  }
  Beside(const Beside&) = delete;
  Beside& operator=(const Beside&) = delete;

  // How often `step` has been done: what the other side gave up for the figure, or not.
  [[nodiscard]] std::uint64_t steps() const { return steps_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> steps_{0};
  std::atomic<bool> stop_{false};
  std::atomic<bool> running_{false};
  std::thread thread_;
};

inline void spin_for(std::chrono::microseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
  }
}

}  // namespace unmoor::bench
