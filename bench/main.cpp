// SPDX-License-Identifier: MIT
#include <fstream>
#include <string>

#include <benchmark/benchmark.h>

#include "bench/kernel_mounts.h"

namespace {

std::string knob(const char* name) {
  std::string value = "?";
  std::ifstream(std::string("/sys/kernel/") + name) >> value;
  return value;
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::AddCustomContext("rcu_normal", knob("rcu_normal"));
  benchmark::AddCustomContext("rcu_expedited", knob("rcu_expedited"));
  // Before there are threads: a mount namespace cannot be left for another one later.
  unmoor::bench::make_kernel_mounts();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
