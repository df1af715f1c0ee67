// SPDX-License-Identifier: MIT
#include "gone/holder.h"

#include <gtest/gtest.h>

#include "gone/shell_word.h"

namespace unmoor::gone {
namespace {

TEST(Holders, AreSortedInnerFirst) {
  std::vector<Holder> holders;
  holders.push_back({.kind = HolderKind::kDescriptor, .pid = 7});
  holders.push_back({.kind = HolderKind::kNestedMount, .path = "/x/a"});
  holders.push_back({.kind = HolderKind::kMount, .prevents = Prevents::kShutdown, .path = "/y"});
  holders.push_back({.kind = HolderKind::kNestedMount, .path = "/x/a/b"});
  holders.push_back({.kind = HolderKind::kLoop, .path = "/x/image"});
  holders.push_back({.kind = HolderKind::kDescriptor, .pid = 3});
  sort_inner_first(holders);
  EXPECT_EQ(holders[0].path, "/x/a/b");
  EXPECT_EQ(holders[1].path, "/x/a");
  EXPECT_EQ(holders[2].path, "/x/image");
  EXPECT_EQ(holders[3].pid, 3);
  EXPECT_EQ(holders[4].pid, 7);
  EXPECT_EQ(holders[5].path, "/y");
}

TEST(Holders, HaveANameForEachKind) {
  for (int kind = 0; kind <= static_cast<int>(HolderKind::kStackedDevice); ++kind) {
    EXPECT_FALSE(name_of(static_cast<HolderKind>(kind)).empty()) << kind;
    EXPECT_FALSE(words_for(static_cast<HolderKind>(kind)).empty()) << kind;
  }
}

TEST(ShellWord, IsWhatAShellReadsBackAsTheName) {
  EXPECT_EQ(shell_word("/mnt/a-b_c.d"), "/mnt/a-b_c.d");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("/mnt/a b"), "'/mnt/a b'");
  EXPECT_EQ(shell_word("/mnt/it's"), "'/mnt/it'\\''s'");
  EXPECT_EQ(shell_word("a\nb'\\"), "$'a\\012b\\'\\\\'");
  EXPECT_EQ(shell_word("$(reboot)"), "'$(reboot)'");
}

}  // namespace
}  // namespace unmoor::gone
