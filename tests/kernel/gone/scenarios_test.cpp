// SPDX-License-Identifier: MIT
// Situations from bug reports, each as a person meets it: the program, its words and its exit code.
#include <cerrno>
#include <fstream>
#include <memory>
#include <sys/mount.h>
#include <sys/stat.h>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernel/unique_fd.h"
#include "support/here.h"
#include "support/hung_fuse.h"
#include "support/loop_device.h"
#include "support/mount_rights.h"
#include "support/planted.h"
#include "support/program.h"

namespace unmoor::test {
namespace {

using testing::HasSubstr;
using testing::Not;

class Scenario : public testing::Test {
 protected:
  void SetUp() override {
    UNMOOR_NEEDS_MOUNTS();
    here_ = here();
    for (const char* const name : {"X", "Y"})
      mkdir(name, 0755);
    static int images = 0;
    loop_ = std::make_unique<LoopDevice>("scenario-image" + std::to_string(++images));
    if (!loop_->ready() || !loop_->make_ext4() || mount(device(), "X", "ext4", 0, nullptr) != 0)
      GTEST_SKIP() << "needs a loop device with ext4";
    std::ofstream("X/file") << "text";
  }
  void TearDown() override {
    for (const char* const name : {"X", "Y"}) {
      while (umount2(name, MNT_DETACH) == 0) {
      }
    }
  }

  [[nodiscard]] const char* device() const { return loop_->node().c_str(); }
  [[nodiscard]] std::string at(const std::string& name) const { return here_ + "/" + name; }
  [[nodiscard]] bool device_is_free() const {
    const kernel::UniqueFd fd(open(device(), O_RDONLY | O_EXCL | O_CLOEXEC));
    return static_cast<bool>(fd);
  }
  static Ran unmoor(std::vector<std::string> words) {
    words.insert(words.begin(), UNMOOR_PROGRAM);
    return run_program(std::move(words));
  }
  static std::string pid_of(const Planted& planted) { return std::to_string(planted.pid()); }

  std::unique_ptr<LoopDevice> loop_;
  std::string here_;
};

// 1
TEST_F(Scenario, AnIdleUnmountSucceedsOnlyWithTheDeviceFree) {
  const Ran ran = unmoor({"umount", at("X")});
  EXPECT_TRUE(device_is_free());
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.err, "");
}

// 2
TEST_F(Scenario, ABusyMountNamesItsHolderAndChangesNothing) {
  const Planted holder("descriptor", at("X"));
  ASSERT_TRUE(holder.ready());
  const Ran ran = unmoor({"umount", at("X")});
  EXPECT_EQ(ran.code, 32);
  EXPECT_THAT(ran.err, HasSubstr("target is busy"));
  EXPECT_THAT(ran.err, HasSubstr(pid_of(holder)));
  EXPECT_THAT(ran.err, HasSubstr("kill " + pid_of(holder)));
  EXPECT_THAT(ran.err, HasSubstr("HINT: "));
  EXPECT_THAT(file_text("/proc/self/mountinfo"), HasSubstr(at("X") + " "));
  EXPECT_EQ(kill(holder.pid(), 0), 0);
}

// 8
TEST_F(Scenario, AnUnmountThatLeavesACopyInAnotherNamespaceSaysWhere) {
  const Planted holder("namespace", at("X"));
  ASSERT_TRUE(holder.ready());
  const Ran ran = unmoor({"umount", at("X")});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("still in use"));
  EXPECT_THAT(ran.err, HasSubstr("mnt:["));
  EXPECT_THAT(ran.err, HasSubstr("nsenter -t " + pid_of(holder) + " -m umount " + at("X")));
}

TEST_F(Scenario, StrictMakesThatAnError) {
  const Planted holder("namespace", at("X"));
  ASSERT_TRUE(holder.ready());
  EXPECT_EQ(unmoor({"umount", "--strict", at("X")}).code, 32);
  EXPECT_FALSE(device_is_free());
}

TEST_F(Scenario, StrictIsContentWithAFreeDevice) {
  EXPECT_EQ(unmoor({"umount", "--strict", at("X")}).code, 0);
}

// 9
TEST_F(Scenario, AnUnmountThatLeavesCopiesNamesThem) {
  for (const auto& [kind, said] : {std::pair{"bind-copy", "X.copy"}, std::pair{"overlay", "X.overlay"},
                                   std::pair{"detached-tree", "detached mount tree"}}) {
    if (file_text("/proc/self/mountinfo").find(at("X") + " ") == std::string::npos) {
      ASSERT_EQ(mount(device(), "X", "ext4", 0, nullptr), 0) << kind;
    }
    const Planted holder(kind, at("X"));
    if (!holder.ready()) continue;
    const Ran ran = unmoor({"umount", at("X")});
    EXPECT_EQ(ran.code, 0) << kind << ": " << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("still in use")) << kind;
    EXPECT_THAT(ran.err, HasSubstr(said)) << kind;
  }
}

// 10
TEST_F(Scenario, ALazyUnmountThatWaitsSaysWhoHoldsItWhenTheTimeIsOver) {
  const Planted holder("descriptor", at("X"));
  ASSERT_TRUE(holder.ready());
  const Ran ran = unmoor({"umount", "-l", "--wait=0.2", at("X")});
  EXPECT_EQ(ran.code, 124) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("not gone in time"));
  EXPECT_THAT(ran.err, HasSubstr(pid_of(holder)));
  EXPECT_THAT(file_text("/proc/self/mountinfo"), Not(HasSubstr(at("X") + " ")));
}

TEST_F(Scenario, ALazyUnmountThatWaitsReturnsWhenTheLastHolderLetsGo) {
  Planted holder("descriptor", at("X"));
  ASSERT_TRUE(holder.ready());
  std::thread releaser([&] {
    while (file_text("/proc/self/mountinfo").find(at("X") + " ") != std::string::npos)
      usleep(1000);
    holder.let_go();
  });
  const Ran ran = unmoor({"umount", "-l", "--wait=60", at("X")});
  EXPECT_TRUE(device_is_free());
  releaser.join();
  EXPECT_EQ(ran.code, 0) << ran.err;
}

// 10, as a shell does it: the program in the background has inherited the descriptor and the working directory.
TEST_F(Scenario, WhatTheProgramInheritedIsNoHolder) {
  for (const std::string& verb : {std::string(" umount -l --wait=60 "), std::string(" wait --timeout=60 ")}) {
    if (file_text("/proc/self/mountinfo").find(at("X") + " ") == std::string::npos) {
      ASSERT_EQ(mount(device(), "X", "ext4", 0, nullptr), 0) << verb;
    }
    const bool detached = verb.starts_with(" wait");
    const Ran ran = run_program(
        {"/bin/sh", "-c",
         "exec 9<X/file; cd X; " + std::string(detached ? "umount -l -i " + at("X") + "; " : "") + UNMOOR_PROGRAM +
             verb + (detached ? device() : at("X")) + " & pid=$!; cd /; sleep 0.3; exec 9<&-; wait $pid"},
        std::chrono::seconds(20));
    EXPECT_EQ(ran.code, 0) << verb << ran.err;
    EXPECT_TRUE(device_is_free()) << verb;
  }
}

TEST_F(Scenario, WaitingForADeviceWhoseMountIsDetachedAlready) {
  Planted holder("working-directory", at("X"));
  ASSERT_TRUE(holder.ready());
  ASSERT_EQ(umount2("X", MNT_DETACH), 0);
  const Ran early = unmoor({"wait", "--timeout=0.2", device()});
  EXPECT_EQ(early.code, 124);
  EXPECT_THAT(early.err, HasSubstr(pid_of(holder)));
  std::thread releaser([&] {
    usleep(200000);
    holder.let_go();
  });
  const Ran late = unmoor({"wait", "--timeout=60", device()});
  releaser.join();
  EXPECT_EQ(late.code, 0) << late.err;
  EXPECT_TRUE(device_is_free());
}

TEST_F(Scenario, WaitingForWhatIsMountedIsAnAnswer) {
  const Ran ran = unmoor({"wait", at("X")});
  EXPECT_EQ(ran.code, 32);
  EXPECT_THAT(ran.err, HasSubstr("still mounted"));
}

// 11: mounted again, the old superblock lives on, and with it whoever held it.
TEST_F(Scenario, ARemountAfterALazyUnmountStillShowsTheOldHolder) {
  const Planted holder("descriptor", at("X"));
  ASSERT_TRUE(holder.ready());
  ASSERT_EQ(umount2("X", MNT_DETACH), 0);
  ASSERT_EQ(mount(device(), "Y", "ext4", 0, nullptr), 0);
  for (const std::string& target : {at("Y"), std::string(device())}) {
    const Ran ran = unmoor({"who", target});
    EXPECT_EQ(ran.code, 0) << target;
    EXPECT_THAT(ran.out, HasSubstr("on a detached mount")) << target;
    EXPECT_THAT(ran.out, HasSubstr(pid_of(holder))) << target;
  }
  const Ran ran = unmoor({"umount", at("Y")});
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.err, HasSubstr("still in use"));
}

// 17
TEST_F(Scenario, ADirectoryThatIsNoMountPointIsNotTakenForItsFilesystem) {
  mkdir("X/directory", 0755);
  const Ran who = unmoor({"who", at("X/directory")});
  EXPECT_EQ(who.code, 2);
  EXPECT_THAT(who.err, HasSubstr("not a mount point"));
  EXPECT_THAT(who.err, HasSubstr("HINT: "));
  EXPECT_EQ(unmoor({"wait", at("X/directory")}).code, 1);
  EXPECT_EQ(unmoor({"umount", at("X/directory")}).code, 32);
  const Ran asked = unmoor({"who", "--filesystem", at("X/directory")});
  EXPECT_EQ(asked.code, 0);
  EXPECT_THAT(asked.out, HasSubstr("umount " + at("X") + "\n"));
}

// 22: what follows an unmount in a script must not run when it failed, nor while the device is in use.
TEST_F(Scenario, ARemovalBehindAFailedUnmountIsNotReached) {
  const Planted holder("working-directory", at("X"));
  ASSERT_TRUE(holder.ready());
  const Ran guarded = run_program(
      {"/bin/sh", "-c", std::string(UNMOOR_PROGRAM) + " umount --strict " + at("X") + " && rm -rf " + at("X")});
  EXPECT_EQ(guarded.code, 32);
  EXPECT_EQ(access("X/file", F_OK), 0);
}

// The same superblock's number in JSON and in the exit code of --json.
TEST_F(Scenario, JsonOfABusyUnmountNamesTheHolders) {
  const Planted holder("descriptor", at("X"));
  ASSERT_TRUE(holder.ready());
  const Ran ran = unmoor({"umount", "--json", at("X")});
  EXPECT_EQ(ran.code, 32);
  EXPECT_EQ(ran.err, "");
  EXPECT_THAT(ran.out, HasSubstr("\"busy\": ["));
  EXPECT_THAT(ran.out, HasSubstr("\"kind\": \"descriptor\""));
  EXPECT_THAT(ran.out, HasSubstr("\"pid\": " + pid_of(holder)));
}

class DeadServer : public testing::Test {
 protected:
  void SetUp() override {
    UNMOOR_NEEDS_MOUNTS();
    mkdir("F", 0755);
    mkdir("B", 0755);
  }
  void TearDown() override {
    umount2("B", MNT_DETACH);
    umount2("F", MNT_DETACH);
  }
  static Ran unmoor(std::vector<std::string> words) {
    words.insert(words.begin(), UNMOOR_PROGRAM);
    return run_program(std::move(words));
  }
};

// 21: ENOTCONN for everybody, and a shell still sits in it.
TEST_F(DeadServer, ItsHoldersAndBindCopiesAreListed) {
  HungFuse fuse("F");
  if (!fuse.ready()) GTEST_SKIP() << "needs /dev/fuse";
  const kernel::UniqueFd inside(open("F", O_PATH | O_DIRECTORY | O_CLOEXEC));
  ASSERT_EQ(mount("F", "B", nullptr, MS_BIND, nullptr), 0);
  fuse.end_server();
  struct ::stat facts{};
  ASSERT_EQ(stat("F/x", &facts), -1);
  const Ran who = unmoor({"who", "F"});
  EXPECT_EQ(who.code, 0);
  EXPECT_THAT(who.out, HasSubstr(std::to_string(getpid())));
  EXPECT_THAT(who.out, HasSubstr("/B"));
  EXPECT_EQ(unmoor({"umount", "F"}).code, 32);
  EXPECT_EQ(unmoor({"umount", "-l", "F"}).code, 0);
}

}  // namespace
}  // namespace unmoor::test
