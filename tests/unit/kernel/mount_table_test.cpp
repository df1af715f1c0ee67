// SPDX-License-Identifier: MIT
#include "kernel/mount_table.h"

#include <gtest/gtest.h>

namespace unmoor::kernel {
namespace {

TEST(MountTable, ReadsEveryField) {
  const auto table = MountTable::parse(
      "36 35 98:0 /mnt1 /mnt2 rw,noatime shared:7 master:3 propagate_from:2 unbindable - ext3 /dev/root rw,errors=x\n");
  ASSERT_TRUE(table);
  ASSERT_EQ(table->entries().size(), 1U);
  const MountEntry& entry = table->entries()[0];
  EXPECT_EQ(entry.id, 36);
  EXPECT_EQ(entry.parent_id, 35);
  EXPECT_EQ(entry.device, (DeviceNumber{98, 0}));
  EXPECT_EQ(entry.root, "/mnt1");
  EXPECT_EQ(entry.mount_point, "/mnt2");
  EXPECT_EQ(entry.options, "rw,noatime");
  EXPECT_EQ(entry.shared_group, 7);
  EXPECT_EQ(entry.master_group, 3);
  EXPECT_EQ(entry.propagate_from, 2);
  EXPECT_TRUE(entry.unbindable);
  EXPECT_EQ(entry.type, "ext3");
  EXPECT_EQ(entry.source, "/dev/root");
  EXPECT_EQ(entry.super_options, "rw,errors=x");
}

TEST(MountTable, UndoesTheKernelsEscapes) {
  const auto table = MountTable::parse("1 0 0:1 / /a\\040b\\012c\\134d\\011 rw - tmpfs s\\043x rw\n");
  ASSERT_TRUE(table);
  EXPECT_EQ(table->entries()[0].mount_point, "/a b\nc\\d\t");
  EXPECT_EQ(table->entries()[0].source, "s#x");
}

TEST(MountTable, AnEmptySourceIsAnEmptySource) {
  const auto table = MountTable::parse("1 0 0:1 / /a rw - tmpfs  rw\n");
  ASSERT_TRUE(table);
  EXPECT_EQ(table->entries()[0].source, "");
  EXPECT_EQ(table->entries()[0].super_options, "rw");
}

TEST(MountTable, KeepsItsTextsAcrossAMove) {
  auto first = MountTable::parse("1 0 0:1 / /a rw - tmpfs t rw\n2 1 0:2 / /b rw - tmpfs t rw\n");
  ASSERT_TRUE(first);
  const MountTable moved = std::move(*first);
  ASSERT_NE(moved.by_id(2), nullptr);
  EXPECT_EQ(moved.by_id(2)->mount_point, "/b");
  EXPECT_EQ(moved.by_id(3), nullptr);
}

TEST(MountTable, RefusesWhatIsNotATable) {
  for (const char* text : {"x", "1 0 0:1 / /a rw tmpfs t rw\n", "1 0 0 / /a rw - tmpfs t rw\n", "\n"}) {
    const auto table = MountTable::parse(text);
    ASSERT_FALSE(table) << text;
    EXPECT_EQ(table.error().code, EINVAL);
  }
}

TEST(MountTable, ReadsThisProcessesOwn) {
  const auto table = MountTable::read(SystemCalls::real());
  ASSERT_TRUE(table);
  EXPECT_FALSE(table->entries().empty());
}

}  // namespace
}  // namespace unmoor::kernel
