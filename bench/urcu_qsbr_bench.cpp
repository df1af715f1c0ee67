// SPDX-License-Identifier: MIT
// liburcu, the flavour whose readers say when they are quiescent: nothing is cheaper, but every thread must say so
// again and again, also one that has nothing to read, which a library cannot ask of its users.
#include <benchmark/benchmark.h>
#include <urcu/urcu-qsbr.h>

#include "bench/fixture.h"

namespace unmoor::bench {
namespace {

void read_section(benchmark::State& state) {
  urcu_qsbr_register_thread();
  for (auto _ : state) {
    urcu_qsbr_read_lock();
    benchmark::ClobberMemory();
    urcu_qsbr_read_unlock();
  }
  urcu_qsbr_unregister_thread();
}
BENCHMARK(read_section)->Name("rcu_read/liburcu_qsbr");

void synchronize(benchmark::State& state) {
  urcu_qsbr_register_thread();
  {
    const Beside reader([] {
      urcu_qsbr_register_thread();
      for (int i = 0; i < 100; ++i) {
        urcu_qsbr_read_lock();
        benchmark::ClobberMemory();
        urcu_qsbr_read_unlock();
        urcu_qsbr_quiescent_state();
      }
      urcu_qsbr_unregister_thread();
    });
    for (auto _ : state)
      urcu_qsbr_synchronize_rcu();
    urcu_qsbr_thread_offline();
  }
  urcu_qsbr_unregister_thread();
}
BENCHMARK(synchronize)->Name("rcu_synchronize/liburcu_qsbr")->UseRealTime();

}  // namespace
}  // namespace unmoor::bench
