// SPDX-License-Identifier: MIT
// `unmoor bench`: measures, side by side. The benches themselves are listed in run.cpp.
#pragma once

namespace unmoor::cli {

int run_bench(int argc, char** argv);

}  // namespace unmoor::cli
