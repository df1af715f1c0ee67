// SPDX-License-Identifier: MIT
// unmoor-verbs: the verbs of `unmoor` that are too heavy for it. argv is that of `unmoor`; argv[0] is its path.
#include <array>
#include <cstdio>
#include <cstring>

#include "cli/bench/run.h"
#include "cli/doctor/run.h"
#include "cli/gained_ids.h"
#include "cli/tree/run.h"
#include "cli/verbs.h"
#include "cli/who/run.h"

namespace unmoor::cli {
namespace {

constexpr std::array<RunVerb, kHeavyVerbs.size()> kFunctions = {
    run_bench, run_doctor, run_tree, run_wait, run_who,
};

}  // namespace
}  // namespace unmoor::cli

int main(int argc, char** argv) {
  using namespace unmoor::cli;
  give_up_gained_ids();
  if (argc > 0) unmoor_program = argv[0];
  for (std::size_t i = 0; argc > 1 && i < kHeavyVerbs.size(); ++i) {
    if (std::strcmp(argv[1], kHeavyVerbs[i].name) == 0) return kFunctions[i](argc - 1, argv + 1);
  }
  std::fputs("unmoor-verbs: run by `unmoor VERB`, not by hand\n", stderr);
  return 1;
}
