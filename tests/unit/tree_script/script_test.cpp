// SPDX-License-Identifier: MIT
#include "cli/tree/script.h"

#include <string>
#include <sys/mount.h>

#include <gtest/gtest.h>

namespace unmoor::cli::tree {
namespace {

TEST(TreeScript, ReadsEveryOperationAndWritesItBack) {
  const std::string text =
      "mkdir /a\n"
      "file /f\n"
      "mount fs /a\n"
      "bind /a /b\n"
      "rbind /a /b\n"
      "move /a /b\n"
      "beneath /a /b\n"
      "group /a /b\n"
      "shared /a\n"
      "rslave /a\n"
      "private /a\n"
      "runbindable /a\n"
      "attr /a ro,nosuid,noatime\n"
      "rattr /a rw,strictatime,nosymfollow\n"
      "rattr /a relatime\n"
      "umount /a -> EBUSY\n"
      "umount -l -e /a -> EINVAL\n"
      "pivot /new /new/old\n"
      "ns two from main\n"
      "in two ns three from two less-privileged\n"
      "in two pin h /a\n"
      "unpin h\n"
      "in two mountinfo two\n";
  const auto operations = parse_script(text);
  ASSERT_TRUE(operations) << operations.error().line << ": " << operations.error().message;
  std::string again;
  for (const Operation& operation : *operations)
    again += script_line(operation) + "\n";
  EXPECT_EQ(again, text);
  EXPECT_EQ((*operations)[16].umount_flags, MNT_DETACH | MNT_EXPIRE);
  EXPECT_EQ((*operations)[15].expected_errno, EBUSY);
  EXPECT_EQ((*operations)[22].line, 23);
}

TEST(TreeScript, LeavesOutCommentsAndBlankLines) {
  const auto operations = parse_script("# all of it\n\n  mkdir /a   # the rest\n\tumount /a -> OK # said\n");
  ASSERT_TRUE(operations);
  ASSERT_EQ(operations->size(), 2U);
  EXPECT_EQ((*operations)[0].target, "/a");
  EXPECT_EQ((*operations)[0].line, 3);
  EXPECT_EQ((*operations)[1].expected_errno, 0);
}

TEST(TreeScript, ADefaultNamespaceIsTheOneTheLineIsIn) {
  const auto operations = parse_script("in b ns c\nmountinfo\n");
  ASSERT_TRUE(operations);
  EXPECT_EQ((*operations)[0].source, "b");
  EXPECT_EQ((*operations)[1].name, "main");
}

TEST(TreeScript, SaysWhatIsWrongAndWhere) {
  struct Case {
    const char* text;
    int line;
    const char* message;
  };
  for (const Case& wrong : {
           Case{"mkdir", 1, "mkdir takes one path"},
           Case{"mkdir /a\nbind /a", 2, "bind takes two paths"},
           Case{"fly /a", 1, "no operation is called fly"},
           Case{"umount -x /a", 1, "no option -x of umount (-l, -f, -e)"},
           Case{"umount /a -> EWHAT", 1, "no errno is called EWHAT"},
           Case{"attr /a ro,blue", 1, "not per-mount options: ro,blue"},
           Case{"in b", 1, "in takes a namespace and an operation"},
           Case{"ns a of b", 1, "ns takes NAME [from NAME] [less-privileged]"},
           Case{"-> EBUSY", 1, "an operation is missing"},
       }) {
    const auto operations = parse_script(wrong.text);
    ASSERT_FALSE(operations) << wrong.text;
    EXPECT_EQ(operations.error().line, wrong.line);
    EXPECT_EQ(operations.error().message, wrong.message);
  }
}

}  // namespace
}  // namespace unmoor::cli::tree
