// SPDX-License-Identifier: MIT
// liburcu, the flavour that uses membarrier as we do.
#include <benchmark/benchmark.h>
#include <urcu/urcu-memb.h>

#include "bench/fixture.h"

namespace unmoor::bench {
namespace {

void read_section(benchmark::State& state) {
  urcu_memb_register_thread();
  for (auto _ : state) {
    urcu_memb_read_lock();
    benchmark::ClobberMemory();
    urcu_memb_read_unlock();
  }
  urcu_memb_unregister_thread();
}
BENCHMARK(read_section)->Name("rcu_read/liburcu_memb");

void synchronize(benchmark::State& state) {
  urcu_memb_register_thread();
  {
    const Beside reader([] {
      urcu_memb_register_thread();
      for (int i = 0; i < 100; ++i) {
        urcu_memb_read_lock();
        benchmark::ClobberMemory();
        urcu_memb_read_unlock();
      }
      urcu_memb_unregister_thread();
    });
    for (auto _ : state)
      urcu_memb_synchronize_rcu();
  }
  urcu_memb_unregister_thread();
}
BENCHMARK(synchronize)->Name("rcu_synchronize/liburcu_memb")->UseRealTime();

}  // namespace
}  // namespace unmoor::bench
