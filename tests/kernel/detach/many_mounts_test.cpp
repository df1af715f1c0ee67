// SPDX-License-Identifier: MIT
// A long mount table, and many calls: right answers, and nothing left behind.
#include <dirent.h>
#include <fstream>

#include "kernel/detach/scratch.h"
#include "kernel/mount_table.h"
#include "support/sanitizer.h"

namespace unmoor::test {
namespace {

using detach::Caller;

int open_descriptors() {
  DIR* const directory = opendir("/proc/self/fd");
  int count = 0;
  while (readdir(directory) != nullptr)
    ++count;
  closedir(directory);
  return count;
}

long resident_pages() {
  long size = 0;
  long resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  return resident;
}

class DetachManyMounts : public DetachTest {};

TEST_F(DetachManyMounts, TwentyThousandInTheTable) {
  const int count = std::getenv("UNMOOR_LONG") != nullptr ? 20000 : 2000;
  mount_tmpfs("source");
  ASSERT_EQ(mkdir("all", 0755), 0);
  ASSERT_EQ(mount("all", "all", "tmpfs", 0, nullptr), 0);
  ASSERT_EQ(mkdir("all/0", 0755), 0);
  for (int i = 0; i < count; ++i)
    ASSERT_EQ(mount("source", "all/0", nullptr, MS_BIND, nullptr), 0) << i;
  for (const Caller caller : {Caller::kLibrary, Caller::kProgram}) {
    mount_tmpfs("m");
    ASSERT_TRUE(detach_always("m", MNT_DETACH, caller));
    EXPECT_EQ(device_at("m"), device_at("."));
  }
  ASSERT_TRUE(detach_always("all"));
  const auto table = kernel::MountTable::read(kernel::SystemCalls::real());
  ASSERT_TRUE(table);
  for (const kernel::MountEntry& entry : table->entries())
    ASSERT_EQ(entry.mount_point.find("/all"), std::string_view::npos) << entry.mount_point;
}

TEST_F(DetachManyMounts, LeaveNoDescriptorNoMemoryNoProcess) {
  const int rounds = std::getenv("UNMOOR_LONG") != nullptr ? 100000 : 1000;
  for (const Caller caller : {Caller::kLibrary, Caller::kProgram}) {
    for (int warm_up = 0; warm_up < 50; ++warm_up) {
      mount_tmpfs("m");
      ASSERT_TRUE(detach_always("m", MNT_DETACH, caller));
    }
    detach::reap_helpers();
    const int descriptors = open_descriptors();
    const long pages = resident_pages();
    for (int round = 0; round < rounds; ++round) {
      ASSERT_EQ(mount("t", "m", "tmpfs", 0, "size=64k"), 0);
      ASSERT_TRUE(detach_always("m", MNT_DETACH, caller));
    }
    detach::reap_helpers();
    EXPECT_EQ(open_descriptors(), descriptors);
    EXPECT_TRUE(resident_pages() <= pages + 64 || kSanitized) << resident_pages() << " pages, before " << pages;
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG | __WALL), -1);
    EXPECT_EQ(errno, ECHILD);
  }
}

}  // namespace
}  // namespace unmoor::test
