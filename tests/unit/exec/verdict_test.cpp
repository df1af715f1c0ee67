// SPDX-License-Identifier: MIT
#include "exec/verdict.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace unmoor::exec {
namespace {

using detach::Defer;
using detach::DeferReason;
using kernel::DeviceNumber;
using kernel::MountTable;

// A container right after pivot_root(".", "."): its own root, /proc and /dev, and the host stacked on "/".
constexpr char kContainer[] =
    "60 59 254:0 /rootfs / rw - ext4 /dev/vda rw\n"
    "61 60 0:50 / /proc rw - proc proc rw\n"
    "62 60 0:51 / /dev rw - tmpfs tmpfs rw,size=64k\n"
    "43 60 254:0 / / rw - ext4 /dev/vda rw\n"
    "44 43 0:20 / /proc rw - proc proc rw\n"
    "45 43 0:5 / /dev rw - devtmpfs devtmpfs rw\n";
constexpr char kHost[] =
    "21 1 254:0 / / rw shared:1 - ext4 /dev/vda rw\n"
    "22 21 0:20 / /proc rw - proc proc rw\n"
    "23 21 0:5 / /dev rw - devtmpfs devtmpfs rw\n"
    "24 21 7:1 / /data rw - ext4 /dev/loop1 rw\n";

class VerdictTest : public testing::Test {
 protected:
  Verdict ask(Defer defer, const std::string& inside, int target, const std::string& host = kHost) {
    const MountTable table = *MountTable::parse(inside);
    std::vector<MountTable> outside;
    outside.push_back(*MountTable::parse(host));
    return judge({.calls = kernel::SystemCalls::real(),
                  .defer = defer,
                  .inside = table,
                  .target = target,
                  .own = own_,
                  .tmpfs = TmpfsSize::kAssumed,
                  .outside = outside,
                  .init_root = DeviceNumber{254, 0}});
  }
  bool own_ = false;
};

TEST_F(VerdictTest, TheOldRootOfAContainerGoesEarlyWhenAllOfItIsElsewhere) {
  const Verdict verdict = ask(Defer::kElsewhere, kContainer, 43);
  EXPECT_EQ(verdict.reason, DeferReason::kDeferred);
  EXPECT_TRUE(verdict.may_keep);
  EXPECT_EQ(verdict.must_stay, (std::vector{DeviceNumber{0, 5}}));
}

TEST_F(VerdictTest, AutoDoesNotCountWhatIsElsewhere) {
  EXPECT_EQ(ask(Defer::kAuto, kContainer, 43).reason, DeferReason::kFilesystemCounts);
}

TEST_F(VerdictTest, AVolumeWithoutAnotherMountStopsBoth) {
  const std::string volume = std::string(kContainer) + "63 60 7:9 / /volume rw - ext4 /dev/loop9 rw\n";
  EXPECT_EQ(ask(Defer::kElsewhere, volume, 43).reason, DeferReason::kNamespaceCounts);
  EXPECT_EQ(ask(Defer::kElsewhere, volume, 0).reason, DeferReason::kNamespaceCounts);
  EXPECT_EQ(ask(Defer::kElsewhere, volume, 63).reason, DeferReason::kFilesystemCounts);
  EXPECT_EQ(ask(Defer::kAlways, volume, 63).reason, DeferReason::kDeferred);
}

TEST_F(VerdictTest, AVolumeThatTheHostHasTooIsElsewhere) {
  const std::string volume = std::string(kContainer) + "63 60 7:1 / /volume rw - ext4 /dev/loop1 rw\n";
  EXPECT_EQ(ask(Defer::kElsewhere, volume, 43).reason, DeferReason::kDeferred);
  EXPECT_NE(ask(Defer::kAuto, volume, 63).reason, DeferReason::kDeferred);
}

TEST_F(VerdictTest, ASharedParentMeansThatOthersLoseTheirMountToo) {
  EXPECT_EQ(ask(Defer::kElsewhere, kHost, 22).reason, DeferReason::kPropagates);
}

// Its parent is private, but what hangs below it has copies elsewhere.
TEST_F(VerdictTest, ASharedMountInsideWhatGoesMeansTheSame) {
  const std::string nested =
      "60 59 254:0 /rootfs / rw - ext4 /dev/vda rw\n"
      "61 60 254:0 /data /data rw shared:7 - ext4 /dev/vda rw\n"
      "62 61 254:0 /below /data/below rw - ext4 /dev/vda rw\n";
  EXPECT_EQ(ask(Defer::kElsewhere, nested, 62).reason, DeferReason::kPropagates);
  EXPECT_EQ(ask(Defer::kElsewhere, nested, 61).reason, DeferReason::kPropagates);
  EXPECT_EQ(ask(Defer::kElsewhere, nested + "63 60 0:20 / /proc rw shared:8 - proc proc rw\n", 63).reason,
            DeferReason::kDeferred);
}

TEST_F(VerdictTest, InTheBrokersOwnNamespaceOnlyWhatLeavesCounts) {
  own_ = true;
  const std::string own =
      "21 1 254:0 / / rw - ext4 /dev/vda rw\n"
      "24 21 7:1 / /data rw - ext4 /dev/loop1 rw\n"
      "25 21 7:2 / /two rw - ext4 /dev/loop2 rw\n"
      "26 21 7:2 / /copy rw - ext4 /dev/loop2 rw\n"
      "27 21 254:0 /bin/x /tmp/x rw - ext4 /dev/vda rw\n";
  EXPECT_EQ(ask(Defer::kElsewhere, own, 27, "").reason, DeferReason::kDeferred);
  EXPECT_EQ(ask(Defer::kElsewhere, own, 26, "").reason, DeferReason::kDeferred);
  EXPECT_EQ(ask(Defer::kElsewhere, own, 24, "").reason, DeferReason::kFilesystemCounts);
  EXPECT_FALSE(ask(Defer::kElsewhere, own, 27, "").may_keep);
  // Whether the whole of it may be held: nothing in it vouches for itself.
  EXPECT_NE(ask(Defer::kElsewhere, own, 0, "").reason, DeferReason::kDeferred);
}

TEST_F(VerdictTest, AutoKeepsNoNamespace) {
  const std::string table =
      "60 59 254:0 /rootfs / rw - ext4 /dev/vda rw\n"
      "62 60 0:51 / /y rw - proc p rw\n";
  EXPECT_EQ(ask(Defer::kAuto, table, 62).reason, DeferReason::kDeferred);
  EXPECT_FALSE(ask(Defer::kAuto, table, 62).may_keep);
  EXPECT_TRUE(ask(Defer::kElsewhere, table, 62).may_keep);
}

TEST_F(VerdictTest, AFileOfAMountNamespacePinsThatNamespace) {
  const std::string table =
      "60 59 254:0 / / rw - ext4 /dev/vda rw\n"
      "61 60 0:4 net:[4026532001] /net rw - nsfs nsfs rw\n";
  // The same superblock: what is known of one file of it says nothing about the next.
  const std::string pinning = table + "62 60 0:4 mnt:[4026532000] /ns rw - nsfs nsfs rw\n";
  EXPECT_EQ(ask(Defer::kElsewhere, table, 61).reason, DeferReason::kDeferred);
  EXPECT_EQ(ask(Defer::kElsewhere, pinning, 62).reason, DeferReason::kFilesystemCounts);
}

}  // namespace
}  // namespace unmoor::exec
