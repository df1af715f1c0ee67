// SPDX-License-Identifier: MIT
// Exactly the mount that the path means goes, whatever the path looks like.
#include <vector>

#include "detach/target.h"
#include "detach/watch.h"
#include "kernel/detach/scratch.h"

namespace unmoor::test {
namespace {

using detach::Caller;

TEST_F(DetachTest, OfAStackExactlyTheTopGoes) {
  for (const Caller caller : {Caller::kLibrary, Caller::kProgram}) {
    std::vector<dev_t> devices{device_at(".")};
    for (int i = 0; i < 4; ++i) {
      mount_tmpfs("m");
      devices.push_back(device_at("m"));
    }
    for (int i = 4; i > 0; --i) {
      ASSERT_EQ(device_at("m"), devices[i]);
      ASSERT_TRUE(detach_always("m", MNT_DETACH, caller));
      EXPECT_EQ(device_at("m"), devices[i - 1]);
    }
  }
}

TEST_F(DetachTest, OddNames) {
  std::string deep;
  for (int i = 0; i < 15; ++i) {
    deep += (i == 0 ? "" : "/") + std::string(250, static_cast<char>('a' + i));
    ASSERT_EQ(mkdir(deep.c_str(), 0755), 0);
  }
  for (const std::string& name : {std::string("with space"), std::string("new\nline"), std::string("\xff\xfe\x80"),
                                  std::string("back\\slash"), std::string("m (deleted)"), std::string("-l"), deep}) {
    for (const char* suffix : {"", "/", "/.", "//"}) {
      mount_tmpfs(name);
      ASSERT_TRUE(detach_always((name + suffix).c_str())) << name << suffix;
      EXPECT_EQ(device_at(name.c_str()), device_at(".")) << name << suffix;
    }
  }
}

TEST_F(DetachTest, AFileAsMountRoot) {
  close(open("file", O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
  close(open("over", O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
  mount_tmpfs("other");
  close(open("other/file", O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
  ASSERT_EQ(mount("other/file", "over", nullptr, MS_BIND, nullptr), 0);
  ASSERT_NE(device_at("over"), device_at("."));
  ASSERT_TRUE(detach_always("over"));
  EXPECT_EQ(device_at("over"), device_at("."));
}

TEST_F(DetachTest, TheWorkingDirectoryItself) {
  const dev_t below = device_at(".");
  mount_tmpfs("m");
  const int outside = open(".", O_PATH | O_CLOEXEC);
  ASSERT_EQ(chdir("m"), 0);
  ASSERT_TRUE(detach_always("."));
  EXPECT_NE(device_at("."), below);  // still in it, as with umount2
  ASSERT_EQ(fchdir(outside), 0);
  close(outside);
  EXPECT_EQ(device_at("m"), below);
}

TEST_F(DetachTest, WhatIsMountedOnTheWorkingDirectoryGoesFirst) {
  mkdir("m", 0755);
  ASSERT_EQ(mount("t", "m", "tmpfs", 0, nullptr), 0);
  const dev_t first = device_at("m");
  ASSERT_EQ(chdir("m"), 0);
  ASSERT_EQ(mount("t", ".", "tmpfs", 0, nullptr), 0);
  ASSERT_NE(device_at("../m"), first);
  ASSERT_TRUE(detach_always("."));
  EXPECT_EQ(device_at("../m"), first);
  ASSERT_TRUE(detach_always("."));
  EXPECT_NE(device_at("../m"), first);
  ASSERT_EQ(chdir(".."), 0);
}

// As runtimes do it: again and again until the kernel says EINVAL. How often that works depends on what the machine
// was started from, so the direct call says what to expect.
int unmount_old_root(const std::function<int(const char*)>& detach_it) {
  if (unshare(CLONE_NEWNS) != 0) return 77;
  if (chdir("new") != 0 || mkdir("proc", 0755) != 0) return 100;
  if (mount("/proc", "proc", nullptr, MS_BIND | MS_REC, nullptr) != 0) return 101;
  if (syscall(SYS_pivot_root, ".", ".") != 0) return 77;
  const dev_t own = device_at("/");
  if (detach_it(".") != 0) return 102;
  if (device_at("/..") != own) return 103;  // something is still on top
  int times = 1;
  while (times < 10 && detach_it(".") == 0)
    ++times;
  return times;
}

TEST_F(DetachTest, TheOldRootAfterPivotRoot) {
  const auto times = [](const std::function<int(const char*)>& detach_it) {
    mount_tmpfs("new");
    const int code = in_child([&] { return unmount_old_root(detach_it); });
    EXPECT_EQ(umount2("new", MNT_DETACH), 0);
    return code;
  };
  const int direct = times([](const char* path) { return umount2(path, MNT_DETACH) == 0 ? 0 : errno; });
  if (direct == 77) GTEST_SKIP() << "needs pivot_root: refused";
  ASSERT_LT(direct, 100);
  for (const Caller caller : {Caller::kLibrary, Caller::kProgram}) {
    EXPECT_EQ(times([&](const char* path) { return error_of(detach_always(path, MNT_DETACH, caller)); }), direct);
  }
}

TEST_F(DetachTest, InAChrootWithAndWithoutProc) {
  for (const bool with_proc : {true, false}) {
    const std::string root = with_proc ? "with" : "without";
    mkdir(root.c_str(), 0755);
    mount_tmpfs(root + "/m");
    const int code = in_child([&] {
      if (with_proc && (mkdir((root + "/proc").c_str(), 0755) != 0 ||
                        mount("/proc", (root + "/proc").c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0)) {
        return 2;
      }
      if (chroot(root.c_str()) != 0 || chdir("/") != 0) return 77;
      if (!detach_always("/m")) return 3;
      return device_at("/m") == device_at("/") ? 0 : 4;
    });
    if (code == 77) GTEST_SKIP() << "needs chroot: refused";
    EXPECT_EQ(code, 0) << root;
    if (with_proc) umount2("with/proc", MNT_DETACH);
  }
}

// A later mount that covers the one meant must stay: the helper compares before it acts.
TEST_F(DetachTest, AMountThatCameOnTopSinceStays) {
  mount_tmpfs("m");
  const auto& calls = kernel::SystemCalls::real();
  const auto target = detach::name_target(calls, "m", MNT_DETACH);
  ASSERT_TRUE(target);
  mount_tmpfs("m");
  const dev_t cover = device_at("m");
  const auto now = detach::name_target(calls, "m", MNT_DETACH);
  ASSERT_TRUE(now);
  EXPECT_FALSE(now->id.same_mount(target->id));
  ASSERT_TRUE(detach_always("m"));
  EXPECT_NE(device_at("m"), cover);
}

TEST_F(DetachTest, AWatchDoesNotBelieveInWhatItNeverSaw) {
  mount_tmpfs("m");
  const auto& calls = kernel::SystemCalls::real();
  for (const unsigned mask : {kernel::kStatxMountIdUnique, kernel::kStatxMountId}) {
    const auto id = kernel::mount_id(calls, AT_FDCWD, "m", 0, mask);
    ASSERT_TRUE(id);
    const auto watch = detach::DetachWatch::begin(calls, *id);
    ASSERT_TRUE(watch);
    EXPECT_FALSE(watch->detached());
    const int code = in_child([&] {  // the same id from a namespace that has its own copies
      if (unshare(CLONE_NEWNS) != 0) return 77;
      return detach::DetachWatch::begin(calls, *id) ? 1 : 0;
    });
    EXPECT_TRUE(code == 0 || code == 77) << code;
  }
}

}  // namespace
}  // namespace unmoor::test
