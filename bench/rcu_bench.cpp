// SPDX-License-Identifier: MIT
// src/rcu alone: an empty read section, and a grace period beside a reader of short sections. liburcu's are in files of
// their own, because its flavours share macros.
#include <memory>
#include <mutex>
#include <shared_mutex>

#include <benchmark/benchmark.h>

#include "bench/fixture.h"
#include "rcu/rcu.h"

namespace unmoor::bench {
namespace {

class NoMembarrier : public rcu::Membarrier {
 public:
  [[nodiscard]] long call(int) const noexcept override { return -1; }
};

void read_section(benchmark::State& state, const rcu::Membarrier& membarrier) {
  rcu::rcu_domain domain({.membarrier = &membarrier});
  for (auto _ : state) {
    const std::scoped_lock reading(domain);
    benchmark::ClobberMemory();
  }
}

void read_ours(benchmark::State& state) {
  read_section(state, rcu::Membarrier::real());
}
BENCHMARK(read_ours)->Name("rcu_read/ours");

void read_fencing(benchmark::State& state) {
  const NoMembarrier none;
  read_section(state, none);
}
BENCHMARK(read_fencing)->Name("rcu_read/ours_without_membarrier");

void read_shared_mutex(benchmark::State& state) {
  std::shared_mutex mutex;
  for (auto _ : state) {
    const std::shared_lock reading(mutex);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(read_shared_mutex)->Name("rcu_read/shared_mutex");

template <void (*kSynchronize)(rcu::rcu_domain&) noexcept>
void synchronize(benchmark::State& state) {
  rcu::rcu_domain domain;
  const Beside reader([&domain] {
    for (int i = 0; i < 100; ++i) {
      const std::scoped_lock reading(domain);
      benchmark::ClobberMemory();
    }
  });
  for (auto _ : state)
    kSynchronize(domain);
}
BENCHMARK(synchronize<rcu::rcu_synchronize_expedited>)->Name("rcu_synchronize/ours_expedited")->UseRealTime();
BENCHMARK(synchronize<rcu::rcu_synchronize>)->Name("rcu_synchronize/ours_normal")->UseRealTime();

}  // namespace
}  // namespace unmoor::bench
