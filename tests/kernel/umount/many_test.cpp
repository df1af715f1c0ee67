// SPDX-License-Identifier: MIT
// Many mounts at once: never a mount left that could go, never one taken that was not asked for.
#include "detach/many/many.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <string>
#include <sys/mount.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "detach/many/subtree.h"
#include "support/long_count.h"
#include "support/tree_of_mounts.h"

namespace unmoor::detach {
namespace {

using kernel::MountEntry;
using kernel::MountTable;

int count(int full) {
  return test::long_count(full, 10);
}

class Many : public test::TreeOfMounts {
 protected:
  [[nodiscard]] static MountTable table() {
    auto read = MountTable::read(kernel::SystemCalls::real());
    EXPECT_TRUE(read);
    return std::move(*read);
  }
  [[nodiscard]] std::size_t left() const {
    std::size_t below = 0;
    const MountTable now = table();
    for (const MountEntry& entry : now.entries())
      below += entry.mount_point.starts_with(top_) ? 1 : 0;
    return below;
  }
  [[nodiscard]] std::vector<MountFate> unmount_tree(const ManyOptions& options) const {
    const MountTable now = table();
    const MountTree tree(now);
    const MountEntry* root = nullptr;
    for (const MountEntry& entry : now.entries()) {
      if (entry.mount_point == top_) {
        root = &entry;
        break;
      }
    }
    if (root == nullptr) return {};
    return unmount_many(kernel::SystemCalls::real(), now, tree.unmount_order(*root), options);
  }
};

class ManyWays : public Many, public testing::WithParamInterface<std::pair<int, unsigned>> {
 protected:
  ManyOptions options() const { return {.umount_flags = GetParam().first, .jobs = GetParam().second}; }
};

INSTANTIATE_TEST_SUITE_P(Ways, ManyWays,
                         testing::Values(std::pair{0, 1U}, std::pair{0, 16U}, std::pair{MNT_DETACH, 1U},
                                         std::pair{MNT_DETACH, 16U}));

TEST_P(ManyWays, EverythingOfAFlatTreeGoes) {
  for (int i = 0; i < count(5000); ++i)
    mount_at(std::to_string(i));
  (void)unmount_tree(options());
  EXPECT_EQ(left(), 0U);
}

TEST_P(ManyWays, EverythingOfADeepTreeGoes) {
  std::string name = "d";
  for (int i = 0; i < 100; ++i, name += "/d")
    mount_at(name);
  (void)unmount_tree(options());
  EXPECT_EQ(left(), 0U);
}

TEST_P(ManyWays, EverythingOfADeepStackGoes) {
  for (int i = 0; i < 500; ++i)
    mount_at("stack");
  (void)unmount_tree(options());
  EXPECT_EQ(left(), 0U);
}

TEST_P(ManyWays, PeersAndSlavesGo) {
  mount_at("source");
  ASSERT_EQ(mount("", path("source").c_str(), nullptr, MS_SHARED, nullptr), 0);
  for (int i = 0; i < 20; ++i) {
    const std::string copy = path("copy" + std::to_string(i));
    (void)mkdir(copy.c_str(), 0755);
    ASSERT_EQ(mount(path("source").c_str(), copy.c_str(), nullptr, MS_BIND, nullptr), 0);
    if (i % 2 == 0) continue;
    ASSERT_EQ(mount("", copy.c_str(), nullptr, MS_SLAVE, nullptr), 0);
  }
  for (int i = 0; i < count(250); ++i)
    mount_at("source/" + std::to_string(i));
  ASSERT_GT(left(), static_cast<std::size_t>(count(5000)));
  (void)unmount_tree(options());
  EXPECT_EQ(left(), 0U);
}

TEST_P(ManyWays, TwoAtOnceOnOneTreeLeaveNothing) {
  for (int i = 0; i < count(2000); ++i)
    mount_at(std::to_string(i));
  std::thread other([this] { (void)unmount_tree(options()); });
  (void)unmount_tree(options());
  other.join();
  // The last mount may have been busy for one of them while the other walked through it.
  (void)unmount_tree(options());
  EXPECT_EQ(left(), 0U);
}

TEST_F(Many, ABusyMountStaysAndOnlyWhatIsAboveItWithIt) {
  mount_at("a");
  mount_at("a/busy");
  mount_at("a/idle");
  mount_at("b");
  const int hold = open(path("a/busy/file").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  ASSERT_GE(hold, 0);
  for (const unsigned jobs : {1U, 8U}) {
    const std::vector<MountFate> fates = unmount_tree({.jobs = jobs});
    EXPECT_EQ(left(), 3U) << "top, a, a/busy";
    EXPECT_EQ(fates.back().error, EBUSY);
    EXPECT_NE(fates.back().blocked_by, nullptr);
  }
  close(hold);
}

TEST_F(Many, InOrderNothingBehindAFailureIsTouched) {
  for (const char* const name : {"1", "2", "3", "4"})
    mount_at(name);
  const int hold = open(path("2").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  for (const unsigned jobs : {1U, 8U}) {
    (void)unmount_tree({.discipline = Discipline::kInOrderStop, .jobs = jobs});
    EXPECT_EQ(left(), 4U) << "only 1 may go, jobs " << jobs;
  }
  close(hold);
}

// `umount a a/x`: a is in use by a/x when its turn comes, and is not tried again when a/x has gone.
TEST_F(Many, InOrderAParentBeforeItsChildStays) {
  for (const unsigned jobs : {1U, 8U}) {
    for (const char* const name : {"a", "a/x", "b"})
      mount_at(name);
    const MountTable now = table();
    const auto at = [&](const std::string& name) {
      return &*std::ranges::find(now.entries(), path(name), &MountEntry::mount_point);
    };
    const std::vector<const MountEntry*> list{at("a"), at("a/x"), at("b")};
    const auto fates =
        unmount_many(kernel::SystemCalls::real(), now, list, {.discipline = Discipline::kInOrderGoOn, .jobs = jobs});
    EXPECT_EQ(fates[0].fate, Fate::kFailed) << "jobs " << jobs;
    EXPECT_EQ(fates[0].error, EBUSY);
    EXPECT_EQ(fates[1].fate, Fate::kUnmounted);
    EXPECT_EQ(fates[2].fate, Fate::kUnmounted);
    EXPECT_EQ(left(), 2U) << "the top and a";
    ASSERT_EQ(umount2(path("a").c_str(), 0), 0);
  }
}

// Of two peers with the same stack, one call takes the top of both; at the same time, the second call would have taken
// the layer below, which was not asked for.
TEST_F(Many, TheTopsOfTwoPeersStacksAreAllThatGoes) {
  for (int round = 0; round < count(300); ++round) {
    mount_at("p");
    ASSERT_EQ(mount("", path("p").c_str(), nullptr, MS_SHARED, nullptr), 0);
    ASSERT_EQ(mkdir(path("q").c_str(), 0755) == 0 || errno == EEXIST, true);
    ASSERT_EQ(mount(path("p").c_str(), path("q").c_str(), nullptr, MS_BIND, nullptr), 0);
    mount_at("p/x");
    mount_at("p/x");
    const MountTable now = table();
    std::vector<const MountEntry*> list;
    for (const char* const name : {"p/x", "q/x"}) {
      for (const MountEntry& entry : now.entries())
        if (entry.mount_point == path(name)) list.push_back(&entry);  // its layers, the lower one first
    }
    ASSERT_EQ(list.size(), 4U);
    (void)unmount_many(kernel::SystemCalls::real(), now, std::vector{list[1], list[3]},
                       {.discipline = Discipline::kInOrderGoOn, .jobs = 8});
    ASSERT_EQ(left(), 5U) << "round " << round << ": the top, p and q, and what is below in p/x and q/x";
    for (const char* const name : {"p/x", "p", "q"})
      ASSERT_EQ(umount2(path(name).c_str(), MNT_DETACH), 0);
  }
}

TEST_F(Many, AMountThatCoversTheListedOneIsNotTaken) {
  mount_at("a");
  const MountTable before = table();
  const MountEntry* const listed = &before.entries().back();
  ASSERT_EQ(listed->mount_point, path("a"));
  mount_at("a");  // covers it
  const std::vector<const MountEntry*> list{listed};
  for (const int flags : {0, int{MNT_DETACH}}) {
    const auto fates = unmount_many(kernel::SystemCalls::real(), before, list, {.umount_flags = flags});
    EXPECT_EQ(fates[0].fate, Fate::kFailed);
    EXPECT_TRUE(fates[0].covered);
    EXPECT_EQ(left(), 3U);
  }
}

TEST_F(Many, WhatIsGoneAlreadyIsNoFailure) {
  mount_at("a");
  const MountTable before = table();
  const std::vector<const MountEntry*> list{&before.entries().back()};
  ASSERT_EQ(umount2(path("a").c_str(), 0), 0);
  const auto fates = unmount_many(kernel::SystemCalls::real(), before, list, {});
  EXPECT_EQ(fates[0].fate, Fate::kWentAlong);
  EXPECT_EQ(left(), 1U);
}

TEST_F(Many, CheckingUnmountsNothingHoweverOften) {
  mount_at("idle");
  mount_at("busy");
  const int hold = open(path("busy").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const MountTable now = table();
  const MountTree tree(now);
  std::vector<const MountEntry*> list;
  for (const MountEntry& entry : now.entries()) {
    if (entry.mount_point.starts_with(top_ + "/")) list.push_back(&entry);
  }
  for (int i = 0; i < 3; ++i) {  // a mark left behind would make the second check unmount it
    const auto fates = check_many(kernel::SystemCalls::real(), now, list);
    EXPECT_EQ(fates[0].fate, Fate::kUntried);
    EXPECT_EQ(fates[1].fate, Fate::kFailed);
    EXPECT_EQ(left(), 3U);
  }
  // The mark is for somebody who expires mounts, as an automounter does: his first call only marks, still.
  EXPECT_EQ(umount2(path("idle").c_str(), MNT_EXPIRE), -1);
  EXPECT_EQ(errno, EAGAIN);
  close(hold);
}

TEST_F(Many, StopLeavesTheRestUntried) {
  for (int i = 0; i < 20; ++i)
    mount_at(std::to_string(i));
  const std::atomic<bool> stop{true};
  const auto fates = unmount_tree({.stop = &stop});
  for (const MountFate& fate : fates)
    EXPECT_EQ(fate.fate, Fate::kUntried);
  EXPECT_EQ(left(), 21U);
}

TEST_F(Many, MountsComingAndGoingAreNeitherTakenNorInTheWay) {
  for (int i = 0; i < count(2000); ++i)
    mount_at(std::to_string(i));
  const std::string other = top_ + "-other";
  (void)mkdir(other.c_str(), 0755);
  std::atomic<bool> over{false};
  std::thread churn([&] {
    while (!over) {
      EXPECT_EQ(mount("o", other.c_str(), "tmpfs", 0, nullptr), 0);
      EXPECT_EQ(umount2(other.c_str(), 0), 0) << "somebody took it";
    }
  });
  (void)unmount_tree({.jobs = 8});
  over = true;
  churn.join();
  EXPECT_EQ(left(), 0U);
}

}  // namespace
}  // namespace unmoor::detach
