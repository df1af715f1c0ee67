// SPDX-License-Identifier: MIT
#include "gone/visible_mount.h"

#include <gtest/gtest.h>

namespace unmoor::gone {
namespace {

// /a/b is hidden below the later mount of /a; /s is a stack of two.
constexpr const char* kTable =
    "20 1 8:1 / / rw - ext4 /dev/a rw\n"
    "21 20 0:5 / /a/b rw - tmpfs old rw\n"
    "22 20 0:6 / /a rw - tmpfs new rw\n"
    "23 20 0:7 / /s rw - tmpfs s1 rw\n"
    "24 23 0:8 / /s rw - tmpfs s2 rw\n"
    "25 20 0:9 / /f rw - fuse.x x rw\n"
    "26 25 0:10 / /f/in rw - tmpfs i rw\n";

int visible(std::string_view path) {
  const auto table = kernel::MountTable::parse(kTable);
  const kernel::MountEntry* const mount = visible_mount(*table, path);
  return mount == nullptr ? 0 : mount->id;
}

TEST(VisibleMount, IsWhereAWalkEnds) {
  EXPECT_EQ(visible("/"), 20);
  EXPECT_EQ(visible("/etc/passwd"), 20);
  EXPECT_EQ(visible("/a"), 22);
  EXPECT_EQ(visible("/a/b"), 22);
  EXPECT_EQ(visible("/ab"), 20);
  EXPECT_EQ(visible("/s"), 24);
  EXPECT_EQ(visible("/s/x"), 24);
  EXPECT_EQ(visible("/f/in/x"), 26);
}

TEST(VisibleMount, IsNobodyInAChrootWithoutAMount) {
  const auto table = kernel::MountTable::parse("30 29 0:5 / /proc rw - proc proc rw\n");
  EXPECT_EQ(visible_mount(*table, "/etc"), nullptr);
  EXPECT_EQ(visible_mount(*table, "/proc/1")->id, 30);
}

TEST(NormalPath, IsAbsoluteAndWithoutDots) {
  const kernel::SystemCalls& calls = kernel::SystemCalls::real();
  EXPECT_EQ(*normal_path(calls, "/a//b/./c/../d/"), "/a/b/d");
  EXPECT_EQ(*normal_path(calls, "/../.."), "/");
  EXPECT_TRUE(normal_path(calls, "x")->ends_with("/x"));
}

TEST(AnswersByItself, IsNotAServer) {
  EXPECT_TRUE(answers_by_itself("ext4"));
  for (const char* type : {"fuse", "fuse.sshfs", "fuseblk", "autofs", "nfs4", "unheard-of"})
    EXPECT_FALSE(answers_by_itself(type)) << type;
}

// Records every name that is looked up.
class Recording : public kernel::SystemCalls {
 public:
  [[nodiscard]] long call(long number, long a, long b, long c, long d, long e, long f) const noexcept override {
    if (number != SYS_readlinkat) return SystemCalls::call(number, a, b, c, d, e, f);
    const std::string path = reinterpret_cast<const char*>(b);
    looked_at += path + ";";
    if (path != "/link") return -EINVAL;
    const std::string target = "/f/in";
    target.copy(reinterpret_cast<char*>(c), target.size());
    return static_cast<long>(target.size());
  }
  mutable std::string looked_at;
};

TEST(ResolvedPath, NeverLooksIntoAFilesystemThatMayNotAnswer) {
  const auto table = kernel::MountTable::parse(kTable);
  const Recording calls;
  EXPECT_EQ(*resolved_path(calls, *table, "/link/sub"), "/f/in/sub");
  EXPECT_EQ(calls.looked_at, "/link;/f;");
}

}  // namespace
}  // namespace unmoor::gone
