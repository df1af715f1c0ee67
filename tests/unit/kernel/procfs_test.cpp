// SPDX-License-Identifier: MIT
// Texts of /proc as kernels print them.
#include <cerrno>
#include <cstring>
#include <fcntl.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernel/procfs_directory.h"
#include "kernel/procfs_fdinfo.h"
#include "kernel/procfs_identity.h"
#include "kernel/procfs_maps.h"
#include "kernel/procfs_place.h"
#include "kernel/procfs_text.h"
#include "kernel/unix_sockets.h"
#include "support/redirected_calls.h"

namespace unmoor::kernel {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Fdinfo, TellsMountFlagsAndDescriptorsInFlight) {
  const DescriptorFacts facts = parse_fdinfo("pos:\t0\nflags:\t012000000\nmnt_id:\t10\nino:\t21184\nscm_fds: 3\n");
  EXPECT_EQ(facts.mount_id, 10U);
  EXPECT_EQ(facts.inode, 21184U);
  EXPECT_EQ(facts.in_flight, 3);
  EXPECT_NE(facts.flags & O_PATH, 0);
}

TEST(Fdinfo, ReadsRegisteredFilesWithEmptySlotsAndAnyName) {
  // 6.18 leaves empty slots out; older kernels print <none>. Buffers that follow are indented as well.
  const DescriptorFacts facts = parse_fdinfo(
      "mnt_id:\t17\nUserFiles:\t4\n    0: /t/a\\040b\\012c\n    1: <none>\n    3: /etc/x: y\nUserBufs:\t1\n    0: "
      "0x1000/4096\n");
  EXPECT_THAT(facts.ring_files, ElementsAre("/t/a b\nc", "/etc/x: y"));
}

TEST(Fdinfo, TellsWhichFilesystemAnInotifyDescriptorWatches) {
  const DescriptorFacts facts = parse_fdinfo(
      "flags:\t02004000\nmnt_id:\t15\ninotify wd:1 ino:2 sdev:700012 mask:400 ignored_mask:0 fhandle-bytes:8\n");
  EXPECT_EQ(facts.watched, (DeviceNumber{.major = 7, .minor = 18}));
  EXPECT_EQ(parse_fdinfo("flags:\t02004000\nmnt_id:\t15\n").watched, std::nullopt);
}

TEST(Maps, TakesWantedDevicesOnceEach) {
  const std::vector<Mapping> found = parse_maps(
      "7f00-7f01 r-xp 00000000 fd:01 7                    /lib/a b.so\n"
      "7f01-7f02 rw-p 00001000 fd:01 7                    /lib/a b.so\n"
      "7f02-7f03 rw-p 00000000 00:00 0 \n"
      "7f03-7f04 r--s 00000000 07:10 9                    /mnt/x\\012y (deleted)\n",
      {{0xfd, 1}, {7, 16}});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].path, "/lib/a b.so");
  EXPECT_EQ(found[0].range, "7f00-7f01");
  EXPECT_EQ(found[1].path, "/mnt/x\ny (deleted)");
  EXPECT_EQ(found[1].inode, 9U);
  EXPECT_THAT(parse_maps("7f00-7f01 r-xp 0 fd:01 7 /a\n", {}), IsEmpty());
}

constexpr const char* kId = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

TEST(ControlGroupText, TellsUnitAndContainer) {
  const auto of = [](const std::string& path) { return parse_cgroup("0::" + path + "\n"); };
  EXPECT_EQ(of("/system.slice/sshd.service").unit, "sshd.service");
  EXPECT_EQ(of("/user.slice/user-0.slice/session-3.scope").unit, "session-3.scope");
  EXPECT_EQ(of("/system.slice/sshd.service").container, "");
  const std::string id(kId);
  EXPECT_EQ(of("/system.slice/docker-" + id + ".scope").container, "docker 0123456789ab");
  EXPECT_EQ(of("/machine.slice/libpod-" + id + ".scope/container").container, "podman 0123456789ab");
  EXPECT_EQ(of("/docker/" + id).container, "docker 0123456789ab");
  EXPECT_EQ(
      of("/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod12.slice/cri-containerd-" + id + ".scope")
          .container,
      "containerd 0123456789ab");
  EXPECT_EQ(of("/kubepods/burstable/pod1234/" + id).container, "kubernetes 0123456789ab");
  EXPECT_EQ(of("/lxc.payload.web/init.scope").container, "lxc web");
  EXPECT_EQ(of("/" + id).container, "container 0123456789ab");
}

TEST(ControlGroupText, TakesTheUnitFromSystemdsOwnHierarchyOnVersionOne) {
  const ControlGroup group = parse_cgroup("4:memory:/other.service\n1:name=systemd:/system.slice/cron.service\n");
  EXPECT_EQ(group.unit, "cron.service");
}

TEST(Identity, OfThisProcess) {
  const SystemCalls& calls = SystemCalls::real();
  const Result<UniqueFd> self = open_directory(calls, AT_FDCWD, "/proc/self");
  ASSERT_TRUE(self);
  const ProcessIdentity who = identity_of(calls, self->get());
  EXPECT_EQ(who.uid, geteuid());
  EXPECT_EQ(who.command, "kernel_unit_tes");
  EXPECT_FALSE(who.kernel_thread);
}

TEST(UserName, IsReadByHandAndFallsBackToTheNumber) {
  class Passwd : public SystemCalls {
   public:
    [[nodiscard]] long call(long number, long a, long b, long c, long d, long e, long f) const noexcept override {
      if (number == SYS_openat) return -ENOENT;
      return SystemCalls::call(number, a, b, c, d, e, f);
    }
  };
  EXPECT_EQ(user_name(SystemCalls::real(), 0), "root");
  EXPECT_EQ(user_name(Passwd(), 0), "0");
  EXPECT_EQ(user_name(SystemCalls::real(), 3999999), "3999999");
}

TEST(NetUnix, TakesPathsOnly) {
  const std::vector<BoundSocket> found = parse_net_unix(
      "Num       RefCount Protocol Flags    Type St Inode Path\n"
      "0000000000000000: 00000002 00000000 00010000 0001 01 12345 /run/a b.sock\n"
      "0000000000000000: 00000003 00000000 00000000 0001 03 12346\n"
      "0000000000000000: 00000002 00000000 00010000 0001 01 12347 @hidden\n"
      "0000000000000000: 00000002 00000000 00010000 0001 01 12348 relative\n");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].inode, 12345U);
  EXPECT_EQ(found[0].path, "/run/a b.sock");
  EXPECT_EQ(found[1].path, "relative");
}

TEST(ForEachName, MayBeNested) {
  const SystemCalls& calls = SystemCalls::real();
  int outer = 0;
  int inner = 0;
  ASSERT_TRUE(for_each_name(calls, AT_FDCWD, "/proc/self", [&](std::string_view name) {
    ++outer;
    if (name != "fd") return;
    ASSERT_TRUE(for_each_name(calls, AT_FDCWD, "/proc/self/fd", [&](std::string_view) { ++inner; }));
  }));
  EXPECT_GT(outer, 20);
  EXPECT_GE(inner, 3);
}

TEST(MayRevalidate, IsTrueForServersAndForWhatNobodyKnows) {
  for (const char* type : {"nfs", "nfs4", "9p", "cifs", "ceph", "some-new-fs"})
    EXPECT_TRUE(may_revalidate(type)) << type;
  for (const char* type : {"ext4", "tmpfs", "fuse", "fuse.sshfs", "overlay", "nsfs"})
    EXPECT_FALSE(may_revalidate(type)) << type;
}

// Linux before 5.8 has no STATX_MNT_ID.
TEST(Place, SaysThatTheKernelTellsNoMountId) {
  class Old : public SystemCalls {
   public:
    [[nodiscard]] long call(long number, long a, long b, long c, long d, long e, long f) const noexcept override {
      const long result = SystemCalls::call(number, a, b, c, d, e, f);
      if (number == SYS_statx && result == 0) reinterpret_cast<struct ::statx*>(e)->stx_mask &= 0xfffU;
      return result;
    }
  };
  const Result<Place> place = place_of(Old(), AT_FDCWD, "/proc/self/exe");
  ASSERT_FALSE(place);
  EXPECT_EQ(place.error().code, ENOSYS);
}

// Files of a program that is always mapped, and of no device at all.
TEST(Maps, AreAskedOneByOneWhatTheTextSays) {
  const SystemCalls& calls = SystemCalls::real();
  const UniqueFd maps(open("/proc/self/maps", O_RDONLY | O_CLOEXEC));
  struct ::statx own;
  ASSERT_EQ(statx(AT_FDCWD, "/proc/self/exe", 0, STATX_INO, &own), 0);
  const std::vector<DeviceNumber> none = {{4095, 4095}};
  const std::vector<DeviceNumber> mine = {{4095, 4095}, {own.stx_dev_major, own.stx_dev_minor}};
  const Result<bool> any = maps_any_of(calls, maps.get(), mine);
  if (!any && any.error().code == ENOTTY) GTEST_SKIP() << "needs PROCMAP_QUERY: Linux 6.11";
  ASSERT_TRUE(any);
  const Result<std::string> text = read_text(calls, AT_FDCWD, "/proc/self/maps");
  EXPECT_EQ(*any, !parse_maps(*text, mine).empty());
  EXPECT_EQ(maps_any_of(calls, maps.get(), none), false);
}

TEST(Maps, AreReadAsTextWhereTheKernelCannotBeAsked) {
  class NoQuery : public SystemCalls {
    [[nodiscard]] long call(long number, long a, long b, long c, long d, long e, long f) const noexcept override {
      return number == SYS_ioctl ? -ENOTTY : SystemCalls::call(number, a, b, c, d, e, f);
    }
  };
  const NoQuery calls;
  const UniqueFd self(open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const Result<std::string> text = read_text(calls, AT_FDCWD, "/proc/self/maps");
  struct ::statx own;
  ASSERT_EQ(statx(AT_FDCWD, "/proc/self/exe", 0, STATX_INO, &own), 0);
  const std::vector<DeviceNumber> mine = {{own.stx_dev_major, own.stx_dev_minor}};
  const Result<std::vector<Mapping>> found = mappings_of(calls, self.get(), mine);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->size(), parse_maps(*text, mine).size());
}

// The text of a ring with many registered files is longer than one read.
TEST(Fdinfo, IsReadToItsEnd) {
  class LongText : public SystemCalls {
   public:
    LongText() {
      text_ = "pos:\t0\nflags:\t02000002\nmnt_id:\t15\nUserFiles:\t100\n";
      for (int i = 0; i < 100; ++i)
        text_ += "    " + std::to_string(i) + ": /mnt/" + std::string(50, 'f') + std::to_string(i) + "\n";
    }
    [[nodiscard]] long call(long number, long a, long b, long c, long d, long e, long f) const noexcept override {
      if (number != SYS_read) return SystemCalls::call(number, a, b, c, d, e, f);
      const std::size_t size = std::min(static_cast<std::size_t>(c), text_.size() - at_);
      std::memcpy(reinterpret_cast<char*>(b), text_.data() + at_, size);
      at_ += size;
      return static_cast<long>(size);
    }

   private:
    std::string text_;
    mutable std::size_t at_ = 0;
  };
  const LongText calls;
  const UniqueFd self(open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const Result<DescriptorFacts> facts = descriptor_facts(calls, self.get(), self.get());
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->mount_id, 15U);
  ASSERT_EQ(facts->ring_files.size(), 100U);
  EXPECT_TRUE(facts->ring_files.back().ends_with("f99"));
}

}  // namespace
}  // namespace unmoor::kernel
