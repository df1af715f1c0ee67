// SPDX-License-Identifier: MIT
// Machines in trouble, crowded ones, and names made to mislead.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <memory>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gone/wait_gone.h"
#include "support/here.h"
#include "support/hung_fuse.h"
#include "support/kernel_version.h"
#include "support/loop_device.h"
#include "support/mount_rights.h"
#include "support/user_namespace.h"

namespace unmoor::gone {
namespace {

using std::chrono::seconds;
using testing::IsEmpty;

Inquiry ask(const std::vector<std::string>& names, AskFor what = AskFor::kWhatItNames) {
  Result<Census> census = Census::take(kernel::SystemCalls::real());
  EXPECT_TRUE(census);
  auto shared = std::make_shared<Census>(std::move(*census));
  std::vector<Target> targets;
  for (const std::string& name : names) {
    Result<Target> target = resolve_target(*shared, name, what);
    EXPECT_TRUE(target) << name;
    if (target) targets.push_back(std::move(*target));
  }
  Result<Inquiry> inquiry = inquire(shared, std::move(targets));
  EXPECT_TRUE(inquiry);
  // Other programs' descriptors in flight are candidates for any filesystem.
  for (Answer& answer : inquiry->answers)
    std::erase_if(answer.holders, [](const Holder& holder) { return holder.kind == HolderKind::kInFlight; });
  return std::move(*inquiry);
}

// Holders of the mount itself, without copies elsewhere.
std::vector<Holder> blocking(const std::string& name) {
  std::vector<Holder> holders = ask({name}).answers.at(0).holders;
  std::erase_if(holders, [](const Holder& holder) { return holder.prevents != Prevents::kUnmount; });
  return holders;
}

class Hardship : public testing::Test {
 protected:
  void SetUp() override {
    UNMOOR_NEEDS_MOUNTS();
    for (const char* name : {"X", "Y", "F"})
      mkdir(name, 0755);
  }
  void TearDown() override {
    for (const char* name : {"X", "Y", "F"})
      umount2(name, MNT_DETACH);
  }
  void mount_tmpfs(const char* where) { ASSERT_EQ(mount("same-name", where, "tmpfs", 0, nullptr), 0); }
};

TEST_F(Hardship, AHungFuseServerDelaysNothing) {
  test::HungFuse fuse("F");
  if (!fuse.ready()) GTEST_SKIP() << "needs /dev/fuse";
  fuse.add_victim();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  mount_tmpfs("X");
  const kernel::UniqueFd inside(open("F", O_PATH | O_DIRECTORY | O_CLOEXEC));
  const Clock::time_point before = Clock::now();
  const Inquiry inquiry = ask({"X", "F"});
  const Result<Census> census = Census::take(kernel::SystemCalls::real());
  ASSERT_TRUE(census);
  const Result<Target> target = resolve_target(*census, "F", AskFor::kWhatItNames);
  ASSERT_TRUE(target);
  Result<GoneWaiter> waiter = GoneWaiter::prepare(kernel::SystemCalls::real(), *target);
  ASSERT_TRUE(waiter);
  const Result<Verdict> verdict = waiter->wait({});
  EXPECT_LT(Clock::now() - before, seconds(2));
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->outcome, Outcome::kStillMounted);
  EXPECT_THAT(inquiry.answers.at(0).holders, IsEmpty());
  const bool found = std::ranges::any_of(inquiry.answers.at(1).holders,
                                         [&](const Holder& holder) { return holder.descriptor == inside.get(); });
  EXPECT_TRUE(found);
}

TEST_F(Hardship, TwoFilesystemsWithOneSourceNameAreTwo) {
  mount_tmpfs("X");
  mount_tmpfs("Y");
  const kernel::UniqueFd held(open("Y", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  EXPECT_THAT(ask({"X"}).answers.at(0).holders, IsEmpty());
  EXPECT_EQ(blocking("Y").size(), 1U);
}

TEST_F(Hardship, ABindOfTheRootFilesystemHasOnlyItsOwnHolders) {
  mkdir("/tmp/unmoor-bind-source", 0755);
  ASSERT_EQ(mount("/tmp/unmoor-bind-source", "X", nullptr, MS_BIND, nullptr), 0);
  rmdir("/tmp/unmoor-bind-source");
  EXPECT_THAT(blocking("X"), IsEmpty());
  EXPECT_EQ(umount2("X", 0), 0);
}

TEST_F(Hardship, AnAnonymousNumberThatIsUsedAgainIsAnotherFilesystem) {
  mount_tmpfs("X");
  kernel::UniqueFd held(open("X", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_EQ(umount2("X", MNT_DETACH), 0);
  held.reset();
  mount_tmpfs("Y");  // gets the number that has just become free
  EXPECT_THAT(ask({"Y"}).answers.at(0).holders, IsEmpty());
}

// Files of an overlay show a device number of their own, or that of a layer; neither is the overlay's.
TEST_F(Hardship, AnOverlayAndItsLayersAreTwoFilesystems) {
  if (!test::kernel_at_least(6, 12)) GTEST_SKIP() << "needs Linux 6.12: older ones show a mapping as one of the layer";
  mount_tmpfs("X");
  for (const char* const name : {"X/lower", "X/upper", "X/work"})
    mkdir(name, 0755);
  std::ofstream("X/lower/file") << "text";
  const std::string x = test::here() + "/X";
  const std::string layers = "lowerdir=" + x + "/lower,upperdir=" + x + "/upper,workdir=" + x + "/work";
  if (mount("overlay", "Y", "overlay", 0, layers.c_str()) != 0) GTEST_SKIP() << "needs overlay";
  const kernel::UniqueFd held(open("Y/file", O_RDONLY | O_CLOEXEC));
  void* const mapped = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE, held.get(), 0);
  ASSERT_NE(mapped, MAP_FAILED);
  const std::vector<Holder> of_overlay = blocking("Y");
  const std::vector<Holder> of_layers = ask({"X"}).answers.at(0).holders;
  munmap(mapped, 4096);
  ASSERT_EQ(of_overlay.size(), 2U);
  EXPECT_THAT(std::vector({of_overlay[0].kind, of_overlay[1].kind}),
              testing::UnorderedElementsAre(HolderKind::kDescriptor, HolderKind::kMapping));
  for (const Holder& holder : of_layers)
    EXPECT_EQ(holder.kind, HolderKind::kOverlay) << holder.path;
  EXPECT_EQ(of_layers.size(), 3U);
}

TEST_F(Hardship, ABtrfsHasAnotherNumberInItsFiles) {
  test::LoopDevice loop("btrfs-image", 128);
  if (!loop.ready() || std::system(("mkfs.btrfs -q -f " + loop.node() + " >btrfs.log 2>&1").c_str()) != 0 ||
      mount(loop.node().c_str(), "X", "btrfs", 0, nullptr) != 0)
    GTEST_SKIP() << "needs btrfs";
  const kernel::UniqueFd device(open(loop.node().c_str(), O_RDONLY | O_CLOEXEC));
  kernel::UniqueFd held(open("X/file", O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  struct ::stat facts{};
  ASSERT_EQ(fstat(held.get(), &facts), 0);
  EXPECT_EQ(blocking("X").size(), 1U);
  const Answer of_device = ask({loop.node()}).answers.at(0);
  EXPECT_NE(of_device.target.superblock->minor, minor(facts.st_dev)) << "nothing tested: the numbers are the same";
  std::vector<HolderKind> kinds;
  for (const Holder& holder : of_device.holders)
    kinds.push_back(holder.kind);
  EXPECT_THAT(kinds,
              testing::UnorderedElementsAre(HolderKind::kMount, HolderKind::kDescriptor, HolderKind::kDeviceDescriptor))
      << "the mount, the file on it, and the test's own descriptor of the device";
  Result<GoneWaiter> waiter = GoneWaiter::prepare(kernel::SystemCalls::real(), of_device.target);
  ASSERT_TRUE(waiter);
  ASSERT_EQ(umount2("X", MNT_DETACH), 0);
  const Result<Verdict> early = waiter->wait({.deadline = Clock::now() + std::chrono::milliseconds(50)});
  ASSERT_TRUE(early);
  EXPECT_EQ(early->outcome, Outcome::kTimedOut);
  held.reset();
  const Result<Verdict> late = waiter->wait({.deadline = Clock::now() + seconds(20)});
  ASSERT_TRUE(late);
  EXPECT_EQ(late->outcome, Outcome::kGone);
  EXPECT_TRUE(late->device_was_free);
}

TEST_F(Hardship, NamesWithNewlinesAndFalseDeletionMarks) {
  mount_tmpfs("X");
  const std::string odd = "X/a\nb (deleted)";
  const kernel::UniqueFd held(open(odd.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  std::vector<Holder> holders = blocking("X");
  ASSERT_EQ(holders.size(), 1U);
  EXPECT_TRUE(holders[0].path.ends_with("/X/a\nb (deleted)")) << holders[0].path;
  EXPECT_FALSE(holders[0].deleted);
  ASSERT_EQ(unlink(odd.c_str()), 0);
  holders = blocking("X");
  ASSERT_EQ(holders.size(), 1U);
  EXPECT_TRUE(holders[0].path.ends_with("/X/a\nb (deleted)")) << holders[0].path;
  EXPECT_TRUE(holders[0].deleted);
}

TEST_F(Hardship, AMountPointWithSpacesAndNewlines) {
  mkdir("a b\nc", 0755);
  ASSERT_EQ(mount("t", "a b\nc", "tmpfs", 0, nullptr), 0);
  const kernel::UniqueFd held(open("a b\nc", O_PATH | O_CLOEXEC));
  const std::vector<Holder> holders = blocking("a b\nc");
  umount2("a b\nc", MNT_DETACH);
  ASSERT_EQ(holders.size(), 1U);
  EXPECT_EQ(holders[0].kind, HolderKind::kPathDescriptor);
}

// 50,000 where the limit allows it; root may raise it.
TEST_F(Hardship, ManyDescriptorsInOneProcess) {
  mount_tmpfs("X");
  std::ofstream("X/file") << "text";
  const rlimit enough{50100, 50100};
  rlimit limit{};
  if (setrlimit(RLIMIT_NOFILE, &enough) != 0) {
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  getrlimit(RLIMIT_NOFILE, &limit);
  std::vector<kernel::UniqueFd> held;
  for (rlim_t i = 0; i + 100 < limit.rlim_cur; ++i)
    held.emplace_back(open("/dev/null", O_RDONLY | O_CLOEXEC));
  held.emplace_back(open("X/file", O_RDONLY | O_CLOEXEC));
  const Clock::time_point before = Clock::now();
  const std::vector<Holder> holders = blocking("X");
  EXPECT_LT(Clock::now() - before, seconds(10));
  ASSERT_EQ(holders.size(), 1U);
  EXPECT_EQ(holders[0].descriptor, held.back().get());
}

TEST_F(Hardship, ProcessesThatComeAndGoDuringTheScan) {
  mount_tmpfs("X");
  const kernel::UniqueFd held(open("X", O_PATH | O_DIRECTORY | O_CLOEXEC));
  std::atomic<bool> stop{false};
  std::thread churn([&] {
    while (!stop) {
      const pid_t child = fork();
      if (child == 0) _exit(0);
      waitpid(child, nullptr, 0);
    }
  });
  for (int round = 0; round < 20; ++round) {
    const std::vector<Holder> holders = blocking("X");
    const bool found = std::ranges::any_of(holders, [](const Holder& holder) { return holder.pid == getpid(); });
    EXPECT_TRUE(found);
    for (const Holder& holder : holders)
      EXPECT_EQ(holder.descriptor, held.get());
  }
  stop = true;
  churn.join();
}

// Each keeps a copy of X; all are found, and none twice.
TEST_F(Hardship, ManyMountNamespaces) {
  mount_tmpfs("X");
  const std::size_t count = std::getenv("UNMOOR_LONG") != nullptr ? 2000 : 200;
  std::vector<pid_t> children;
  int ready[2];
  ASSERT_EQ(pipe2(ready, O_CLOEXEC), 0);
  for (std::size_t i = 0; i < count; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      const char answer = unshare(CLONE_NEWNS) == 0 ? 'y' : 'n';
      (void)!write(ready[1], &answer, 1);
      for (;;)
        pause();
    }
    children.push_back(child);
  }
  bool allowed = true;
  for (std::size_t i = 0; i < count; ++i) {
    char answer = 'n';
    (void)!read(ready[0], &answer, 1);
    allowed = allowed && answer == 'y';
  }
  close(ready[0]);
  close(ready[1]);
  std::vector<Holder> holders = ask({"X"}).answers.at(0).holders;
  for (const pid_t child : children)
    kill(child, SIGKILL);
  for (const pid_t child : children)
    waitpid(child, nullptr, 0);
  if (!allowed) GTEST_SKIP() << "needs " << count << " mount namespaces";
  std::erase_if(holders, [](const Holder& holder) { return holder.kind != HolderKind::kNamespace; });
  EXPECT_EQ(holders.size(), count);
}

TEST_F(Hardship, AnOrdinaryUserIsToldWhatHeMayNotSee) {
  mount_tmpfs("X");
  if (!test::initial_user_namespace()) GTEST_SKIP() << "needs root: to become somebody else";
  const pid_t child = fork();
  if (child == 0) {
    if (setgid(65534) != 0 || setuid(65534) != 0) _exit(77);
    Result<Census> census = Census::take(kernel::SystemCalls::real());
    if (!census) _exit(1);
    auto shared = std::make_shared<Census>(std::move(*census));
    const Result<Inquiry> inquiry = inquire(shared, {*resolve_target(*shared, "X", AskFor::kWhatItNames)});
    const bool told = inquiry && std::ranges::any_of(inquiry->notes, [](const std::string& note) {
                        return note.find("other users") != std::string::npos;
                      });
    _exit(told ? 0 : 2);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace unmoor::gone
