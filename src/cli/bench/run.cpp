// SPDX-License-Identifier: MIT
#include "cli/bench/run.h"

#include <CLI/CLI.hpp>

namespace unmoor::cli {

int run_bench(int argc, char** argv) {
  CLI::App app("Measures unmounting, side by side", "unmoor bench");
  CLI11_PARSE(app, argc, argv);
  return 0;
}

}  // namespace unmoor::cli
