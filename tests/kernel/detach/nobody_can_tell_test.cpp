// SPDX-License-Identifier: MIT
// The program that would notice: under `auto`, each way in which an early return was seen to do harm, checked in the
// same process right after the return, with normal grace periods and with expedited ones.
#include <cstdlib>
#include <fstream>
#include <sys/sysmacros.h>
#include <vector>

#include "kernel/detach/device_under_grace.h"
#include "kernel/superblock_alive.h"

namespace unmoor::test {
namespace {

using detach::Caller;
using detach::Defer;

class NobodyCanTell : public UnderGracePeriods {
 protected:
  static bool make_filesystem() { return system("mkfs.ext4 -Fq -O ^has_journal backing > mkfs.log 2>&1") == 0; }
  static void write_something(const std::string& directory) {
    std::ofstream(directory + "/file") << std::string(100000, 'x');
  }
};

#define UNMOOR_NEEDS_DEVICE() \
  if (!make_device()) GTEST_SKIP() << "needs a loop device and mkfs.ext4"

TEST_P(NobodyCanTell, TheDeviceIsFreeAtReturn) {
  UNMOOR_NEEDS_DEVICE();
  for (int round = 0; round < detach_rounds(); ++round) {
    ASSERT_TRUE(mount_device("m"));
    write_something("m");
    ASSERT_TRUE(let_go("m", Defer::kAuto, round % 2 == 0 ? Caller::kProgram : Caller::kLibrary));
    EXPECT_TRUE(is_free()) << "round " << round;
  }
}

TEST_P(NobodyCanTell, AFilesystemMadeOnTheBackingFileIsWhole) {
  UNMOOR_NEEDS_DEVICE();
  for (int round = 0; round < detach_rounds(); ++round) {
    ASSERT_TRUE(mount_device("m")) << "round " << round;
    write_something("m");
    ASSERT_TRUE(let_go("m"));
    ASSERT_TRUE(make_filesystem());
    ASSERT_TRUE(mount_device("m")) << "round " << round;
    ASSERT_EQ(umount2("m", 0), 0);
    EXPECT_EQ(system("e2fsck -fn backing > fsck.log 2>&1"), 0);
  }
}

TEST_P(NobodyCanTell, CopiesDetachedAtOnceByDifferentProcesses) {
  UNMOOR_NEEDS_DEVICE();
  for (const Defer defer : {Defer::kAuto, Defer::kElsewhere}) {
    for (int round = 0; round < detach_rounds(); ++round) {
      ASSERT_TRUE(mount_device("a"));
      for (const char* copy : {"b", "c"}) {
        mkdir(copy, 0755);
        ASSERT_EQ(mount("a", copy, nullptr, MS_BIND, nullptr), 0);
      }
      std::vector<pid_t> children;
      for (const char* path : {"a", "b", "c"}) {
        const pid_t child = fork();
        if (child == 0) _exit(let_go(path, defer) ? 0 : 1);
        children.push_back(child);
      }
      for (const pid_t child : children) {
        int status = 0;
        waitpid(child, &status, 0);
        EXPECT_EQ(status, 0);
      }
      EXPECT_TRUE(is_free()) << "round " << round << " policy " << static_cast<int>(defer);
    }
  }
}

TEST_P(NobodyCanTell, APlainUmountOfTheOtherCopy) {
  UNMOOR_NEEDS_DEVICE();
  for (int round = 0; round < detach_rounds(); ++round) {
    ASSERT_TRUE(mount_device("a"));
    mkdir("b", 0755);
    ASSERT_EQ(mount("a", "b", nullptr, MS_BIND, nullptr), 0);
    ASSERT_TRUE(let_go("a"));
    ASSERT_EQ(umount2("b", 0), 0);
    EXPECT_TRUE(is_free()) << "round " << round;
  }
}

TEST_P(NobodyCanTell, APrivateNamespaceThatDiesRightAfter) {
  UNMOOR_NEEDS_DEVICE();
  for (const Defer defer : {Defer::kAuto, Defer::kElsewhere}) {
    for (int round = 0; round < detach_rounds(); ++round) {
      const int code = in_child([&] {
        if (unshare(CLONE_NEWNS) != 0 || !mount_device("m")) return 2;
        mount_tmpfs("t");
        return let_go("t", defer) ? 0 : 1;
      });
      ASSERT_EQ(code, 0);
      EXPECT_TRUE(is_free()) << "round " << round;
    }
  }
}

TEST_P(NobodyCanTell, TheWorkingDirectoryAndTheRoot) {
  for (const Caller caller : {Caller::kProgram, Caller::kLibrary}) {
    for (int round = 0; round < detach_rounds(); ++round) {
      mount_tmpfs("a");
      mount_tmpfs("b");
      ASSERT_EQ(chdir("a"), 0);
      ASSERT_TRUE(let_go("../b", Defer::kAlways, caller));
      ASSERT_EQ(chdir(".."), 0);
      EXPECT_EQ(umount2("a", 0), 0) << "round " << round;
      mount_tmpfs("root");
      mount_tmpfs("root/m");
      const int code = in_child(
          [&] { return chroot("root") == 0 && chdir("/") == 0 && let_go("m", Defer::kAlways, caller) ? 0 : 1; });
      EXPECT_EQ(code, 0);
      EXPECT_EQ(umount2("root", 0), 0) << "round " << round;
    }
  }
}

TEST_P(NobodyCanTell, TheDetachedFilesystemsThatCount) {
  mkdir("m", 0755);
  const std::vector<const char*> types = {"ramfs", "bpf", "hugetlbfs"};
  for (std::size_t i = 0; i < types.size() * static_cast<std::size_t>(detach_rounds()); ++i) {
    const char* const type = types[i % types.size()];
    if (mount("t", "m", type, 0, nullptr) != 0) continue;
    const dev_t number = device_at("m");
    const auto alive = [&] {
      return kernel::alive_by_number(kernel::SystemCalls::real(), {.major = major(number), .minor = minor(number)});
    };
    ASSERT_NE(alive(), kernel::Alive::kNo) << type;
    const auto outcome = detach::detach_one(kernel::SystemCalls::real(), "m", MNT_DETACH, {.caller = Caller::kProgram});
    EXPECT_NE(alive(), kernel::Alive::kYes) << type << ": shut down at return";
    ASSERT_TRUE(outcome) << type;
    EXPECT_FALSE(outcome->deferred) << type;
  }
  ASSERT_EQ(mount("t", "m", "tmpfs", 0, nullptr), 0);
  std::ofstream("m/big") << std::string(5 << 20, 'x');
  const auto big = detach::detach_one(kernel::SystemCalls::real(), "m", MNT_DETACH, {.caller = Caller::kProgram});
  ASSERT_TRUE(big);
  EXPECT_FALSE(big->deferred);
  ASSERT_EQ(mount("t", "m", "tmpfs", 0, nullptr), 0);
  for (int i = 0; i < 5000; ++i)
    close(open(("m/" + std::to_string(i)).c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  const auto many = detach::detach_one(kernel::SystemCalls::real(), "m", MNT_DETACH, {.caller = Caller::kProgram});
  ASSERT_TRUE(many);
  EXPECT_FALSE(many->deferred);
}

TEST_P(NobodyCanTell, ASlaveNamespacesDeviceUnderAMastersTmpfs) {
  UNMOOR_NEEDS_DEVICE();
  mkdir("shared", 0755);
  ASSERT_EQ(mount("shared", "shared", nullptr, MS_BIND, nullptr), 0);
  ASSERT_EQ(mount("none", "shared", nullptr, MS_SHARED, nullptr), 0);
  mkdir("shared/m", 0755);
  for (int round = 0; round < detach_rounds(); ++round) {
    ASSERT_EQ(mount("t", "shared/m", "tmpfs", 0, "size=64k"), 0);
    int ready[2];
    int done[2];
    ASSERT_TRUE(pipe2(ready, O_CLOEXEC) == 0 && pipe2(done, O_CLOEXEC) == 0);
    const pid_t slave = fork();
    if (slave == 0) {
      close(done[1]);
      char byte = unshare(CLONE_NEWNS) == 0 && mount("none", "/", nullptr, MS_REC | MS_SLAVE, nullptr) == 0 &&
                          umount2("shared/m", 0) == 0 &&  // its own copy: the master keeps the tmpfs
                          mount(node().c_str(), "shared/m", "ext4", 0, nullptr) == 0
                      ? 'y'
                      : 'n';
      static_cast<void>(write(ready[1], &byte, 1));
      static_cast<void>(read(done[0], &byte, 1));
      _exit(0);
    }
    char answer = 'n';
    ASSERT_EQ(read(ready[0], &answer, 1), 1);
    ASSERT_EQ(answer, 'y');
    ASSERT_TRUE(let_go("shared/m"));
    const bool free_at_return = is_free();
    usleep(50000);
    const bool free_later = is_free();
    close(done[1]);
    ASSERT_EQ(waitpid(slave, nullptr, 0), slave);
    for (const int fd : {ready[0], ready[1], done[0]})
      close(fd);
    // Whether the slave's ext4 goes or stays is the kernel's business; if it goes, its device is free at return.
    EXPECT_EQ(free_at_return, free_later) << "round " << round;
  }
}

INSTANTIATE_TEST_SUITE_P(GracePeriods, NobodyCanTell, testing::Values(0, 1),
                         [](const auto& normal) { return normal.param == 1 ? "Normal" : "Expedited"; });

}  // namespace
}  // namespace unmoor::test
