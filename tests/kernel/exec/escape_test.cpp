// SPDX-License-Identifier: MIT
// When the runtime's unmount returns, the old root is out of reach.
#include <sys/stat.h>

#include "container.h"

namespace unmoor::test {
namespace {

std::string root_identity() {
  struct stat facts{};
  EXPECT_EQ(stat("/", &facts), 0);
  return std::to_string(facts.st_dev) + ":" + std::to_string(facts.st_ino);
}

TEST(ExecEscape, ACrunContainerNeverFindsTheOldRoot) {
  UNMOOR_NEEDS_CRUN();
  const std::string bundle = make_bundle("escape", {"/probe", "escape", root_identity()});
  for (int i = 0; i < times(1000); ++i) {
    const Ran ran = run(under_exec(crun_run(bundle, "escape" + std::to_string(i)), {"--defer=always"}));
    ASSERT_EQ(ran.status, 0) << "start " << i << ": " << ran.out;
  }
}

TEST(ExecEscape, ASandboxNeverFindsTheOldRoot) {
  UNMOOR_NEEDS_BWRAP();
  const std::string bundle = make_bundle("sandbox", {"/probe"});
  for (int i = 0; i < times(1000); ++i) {
    const Ran ran = run(under_exec({"bwrap", "--bind", bundle + "/rootfs", "/", "--proc", "/proc", "--unshare-pid",
                                    "/probe", "escape", root_identity()},
                                   {"--defer=always"}));
    ASSERT_EQ(ran.status, 0) << "start " << i << ": " << ran.out;
  }
}

TEST(ExecEscape, TheProbeFindsARootThatIsStillThere) {
  UNMOOR_NEEDS_MOUNTS();
  const Ran ran = run({UNMOOR_PROBE, "escape", root_identity()});
  EXPECT_EQ(ran.status, 1 << 8) << ran.out;
}

}  // namespace
}  // namespace unmoor::test
