// SPDX-License-Identifier: MIT
// Somebody mounts on the target while it is detached. A lazy unmount takes what is mounted on its target too, so one
// call may take a layer that came between its lookup and its turn at the tree: the plain system call does so in about a
// third of such rounds. What must hold: each success takes at least one.
#include <atomic>
#include <cstdlib>
#include <thread>

#include "kernel/detach/scratch.h"

namespace unmoor::test {
namespace {

class DetachCover : public DetachTest {};

TEST_F(DetachCover, EachSuccessTakesALayer) {
  const int rounds = std::getenv("UNMOOR_LONG") != nullptr ? 100 : 10;
  for (int round = 0; round < rounds; ++round) {
    mount_tmpfs("m");
    std::atomic<int> mounted = 1;
    std::atomic<bool> over = false;
    std::thread covering([&] {
      for (int i = 0; i < 200 && !over; ++i) {
        if (mount("t", "m", "tmpfs", 0, "size=64k") == 0) ++mounted;
      }
    });
    const auto caller = round % 2 == 0 ? detach::Caller::kProgram : detach::Caller::kLibrary;
    int gone = 0;
    for (int i = 0; i < 20; ++i) {
      const int error = error_of(detach_always("m", MNT_DETACH, caller));
      if (error == 0) ++gone;
      EXPECT_TRUE(error == 0 || error == EINVAL) << error;
    }
    over = true;
    covering.join();
    int left = 0;
    while (umount2("m", MNT_DETACH) == 0)
      ++left;
    EXPECT_LE(gone + left, mounted) << "round " << round;
    EXPECT_GT(gone, 0);
  }
}

}  // namespace
}  // namespace unmoor::test
