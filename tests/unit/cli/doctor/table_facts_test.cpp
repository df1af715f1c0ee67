// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "cli/doctor/facts.h"

namespace unmoor::cli::doctor {
namespace {

Facts facts_of(const char* text) {
  const Result<kernel::MountTable> table = kernel::MountTable::parse(text);
  EXPECT_TRUE(table);
  Facts facts;
  if (table) read_table_facts(*table, facts);
  return facts;
}

TEST(DoctorTableFacts, CountsWhatASharedCopyOfTheRootTakesAlong) {
  // / with /proc and /home, copied to /c by `mount --rbind`, which then has a mount of its own below it.
  const Facts facts = facts_of(
      "1 0 8:1 / / rw shared:1 - ext4 /dev/sda rw\n"
      "2 1 0:5 / /proc rw shared:2 - proc proc rw\n"
      "3 1 8:2 / /home rw shared:3 - ext4 /dev/sdb rw\n"
      "4 1 8:1 / /c rw shared:1 - ext4 /dev/sda rw\n"
      "5 4 0:5 / /c/proc rw shared:2 - proc proc rw\n"
      "6 4 8:2 / /c/home rw shared:3 - ext4 /dev/sdb rw\n");
  ASSERT_EQ(facts.root_copies.size(), 1U);
  EXPECT_EQ(facts.root_copies[0].mount_point, "/c");
  EXPECT_EQ(facts.root_copies[0].loses, 2U);
}

TEST(DoctorTableFacts, ASlaveOrPrivateCopyTakesNothingAlong) {
  EXPECT_TRUE(facts_of("1 0 8:1 / / rw shared:1 - ext4 /dev/sda rw\n"
                       "2 1 0:5 / /proc rw shared:2 - proc proc rw\n"
                       "4 1 8:1 / /c rw master:1 - ext4 /dev/sda rw\n"
                       "5 4 0:5 / /c/proc rw master:2 - proc proc rw\n")
                  .root_copies.empty());
  EXPECT_TRUE(facts_of("1 0 8:1 / / rw - ext4 /dev/sda rw\n"
                       "4 1 8:1 / /c rw - ext4 /dev/sda rw\n")
                  .root_copies.empty());
}

TEST(DoctorTableFacts, ASharedBindOfOneDirectoryIsNotACopyOfTheRoot) {
  EXPECT_TRUE(facts_of("1 0 8:1 / / rw shared:1 - ext4 /dev/sda rw\n"
                       "2 1 0:5 / /proc rw shared:2 - proc proc rw\n"
                       "4 1 8:1 /srv /c rw shared:1 - ext4 /dev/sda rw\n")
                  .root_copies.empty());
}

TEST(DoctorTableFacts, FindsOverlaysThatSyncAndFuse) {
  const Facts facts = facts_of(
      "1 0 8:1 / / rw - ext4 /dev/sda rw\n"
      "2 1 0:40 / /a rw - overlay o rw,lowerdir=/l,upperdir=/with\\040space/u,workdir=/w\n"
      "3 1 0:41 / /b rw - overlay o rw,lowerdir=/l,upperdir=/u,workdir=/w,volatile\n"
      "4 1 0:42 / /ro ro - overlay o ro,lowerdir=/l:/m\n"
      "5 1 0:43 / /f rw - fuse.sshfs h rw\n"
      "6 1 0:44 / /ctl rw - fusectl fusectl rw\n");
  ASSERT_EQ(facts.overlays.size(), 1U);
  EXPECT_EQ(facts.overlays[0].mount_point, "/a");
  EXPECT_EQ(facts.overlays[0].upper, "/with space/u");
  EXPECT_EQ(facts.fuse_mounts, 1U);
}

TEST(DoctorTableFacts, FindsTheLargestPeerGroup) {
  const Facts facts = facts_of(
      "1 0 8:1 / / rw - ext4 /dev/sda rw\n"
      "2 1 0:40 / /a rw shared:9 - tmpfs t rw\n"
      "3 1 0:40 / /b rw shared:9 - tmpfs t rw\n"
      "4 1 0:41 / /c rw shared:4 - tmpfs t rw\n");
  EXPECT_EQ(facts.mounts, 4U);
  EXPECT_EQ(facts.largest_group, 2U);
  EXPECT_EQ(facts.largest_group_id, 9);
}

}  // namespace
}  // namespace unmoor::cli::doctor
