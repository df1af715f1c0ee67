// SPDX-License-Identifier: MIT
// Somebody mounts on the target while it is detached: exactly as many layers go as calls succeeded.
#include <atomic>
#include <cstdlib>
#include <thread>

#include "kernel/detach/scratch.h"

namespace unmoor::test {
namespace {

class DetachCover : public DetachTest {};

TEST_F(DetachCover, AsManyLayersGoAsCallsSucceeded) {
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
    EXPECT_EQ(mounted, gone + left) << "round " << round;
    EXPECT_GT(gone, 0);
  }
}

}  // namespace
}  // namespace unmoor::test
