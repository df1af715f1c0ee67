// SPDX-License-Identifier: MIT
// unmoor-umount: `unmoor umount` with libmount. argv is that of `unmoor`, or of umount(8) when it was called so.
#include <cstdio>

#include "cli/gained_ids.h"
#include "cli/umount/run.h"
#include "cli/verbs.h"

int main(int argc, char** argv) {
  using namespace unmoor::cli;
  give_up_gained_ids();
  if (argc > 0 && called_as(argv[0], "umount")) return run_as_umount(argc, argv);
  if (argc > 1 && std::strcmp(argv[1], "umount") == 0) return run_umount(argc - 1, argv + 1);
  std::fputs("unmoor-umount: run by `unmoor umount`, not by hand\n", stderr);
  return 1;
}
