// SPDX-License-Identifier: MIT
#include "cli/tree/kernel_runner.h"

#include <chrono>
#include <dirent.h>
#include <string>
#include <sys/wait.h>

#include <gtest/gtest.h>

#include "cli/tree/errno_name.h"
#include "cli/tree/script.h"
#include "support/mount_rights.h"

namespace unmoor::cli::tree {
namespace {

// Runs a script and says what differed from its "->".
std::string differences(KernelRunner& runner, const char* text) {
  const auto operations = parse_script(text);
  if (!operations) return operations.error().message;
  std::string differences;
  for (const Operation& operation : *operations) {
    const Result<int> code = runner.run(operation);
    if (!code) return "broken at " + script_line(operation);
    if (*code != operation.expected_errno.value_or(0)) {
      differences += script_line(operation) + ", was " + errno_name(*code) + "\n";
    }
  }
  return differences;
}

std::string shown(const KernelRunner& runner, const char* ns) {
  const Result<Listing> listing = runner.list(ns);
  return listing ? print_listing(*listing) : "no listing";
}

TEST(KernelRunner, StartsOnAFreshRoot) {
  UNMOOR_NEEDS_MOUNTS();
  auto runner = KernelRunner::start();
  ASSERT_TRUE(runner) << runner.error().doing;
  EXPECT_EQ(shown(*runner, "main"), "/ / root rw,relatime\n");
}

TEST(KernelRunner, RunsOperationsWithTheKernelsErrors) {
  UNMOOR_NEEDS_MOUNTS();
  auto runner = KernelRunner::start();
  ASSERT_TRUE(runner);
  EXPECT_EQ(differences(*runner,
                        "mkdir /a\nmkdir /a -> EEXIST\nmount A /a\nmkdir /a/sub\nmkdir /b\nbind /a/sub /b\n"
                        "umount /none -> ENOENT\numount /a/sub -> EINVAL\nfile /f\nbind /a /f -> ENOTDIR\n"
                        "pin h /a\numount /a -> EBUSY\nunpin h\numount -e /a -> EAGAIN\numount -e /a\n"
                        "unpin h -> EINVAL\nattr /b ro,nosuid\nmkdir /b/x -> EROFS\n"),
            "");
  EXPECT_EQ(shown(*runner, "main"), "/ / root rw,relatime\n/b /sub A ro,nosuid,relatime\n");
}

TEST(KernelRunner, PropagatesBetweenNamespaces) {
  UNMOOR_NEEDS_MOUNTS();
  auto runner = KernelRunner::start();
  ASSERT_TRUE(runner);
  EXPECT_EQ(differences(*runner,
                        "shared /\nmkdir /a\nns two\nin two rslave /\nmount A /a\nin two mkdir /a/x\n"
                        "in three mkdir /y -> EINVAL\nns two -> EINVAL\n"),
            "");
  EXPECT_EQ(shown(*runner, "main"), "/ / root rw,relatime shared:1\n/a / A rw,relatime shared:2\n");
  EXPECT_EQ(shown(*runner, "two"), "/ / root rw,relatime master:1\n/a / A rw,relatime master:2\n");
}

TEST(KernelRunner, ALessPrivilegedCopyHasLockedMounts) {
  UNMOOR_NEEDS_MOUNTS();
  auto runner = KernelRunner::start();
  ASSERT_TRUE(runner);
  EXPECT_EQ(differences(*runner,
                        "mkdir /a\nmount A /a\nattr /a ro\nns guest less-privileged\n"
                        "in guest umount /a -> EINVAL\nin guest attr /a rw -> EPERM\n"
                        "in guest mount B /a\nin guest umount /a\n"),
            "");
}

TEST(KernelRunner, PivotsTheRoot) {
  UNMOOR_NEEDS_MOUNTS();
  auto runner = KernelRunner::start();
  ASSERT_TRUE(runner);
  EXPECT_EQ(differences(*runner, "mkdir /new\nmount N /new\nmkdir /new/old\npivot /new /new/old\numount -l /old\n"),
            "");
  EXPECT_EQ(shown(*runner, "main"), "/ / N rw,relatime\n");
}

TEST(KernelRunner, LeavesNoProcess) {
  UNMOOR_NEEDS_MOUNTS();
  {
    auto runner = KernelRunner::start();
    ASSERT_TRUE(runner);
    EXPECT_EQ(differences(*runner, "ns two\nin two ns three\nns four less-privileged\n"), "");
  }
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

}  // namespace
}  // namespace unmoor::cli::tree
