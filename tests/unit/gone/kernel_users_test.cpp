// SPDX-License-Identifier: MIT
// What the kernel itself holds, from files as kernels have them: also of machines with nfsd, device-mapper and md.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gone/holders/finders.h"
#include "support/redirected_calls.h"

namespace unmoor::gone::holders {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Swap, IsReadFromTheKernelsList) {
  const test::RedirectedCalls calls;
  calls.put("/proc/swaps",
            "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"
            "/mnt/swap\\040file                      file\t\t248\t\t0\t\t-2\n"
            "/dev/sdb1                               partition\t248\t\t0\t\t-3\n");
  const std::vector<KernelUser> users = find_swap(calls);
  ASSERT_EQ(users.size(), 2U);
  EXPECT_EQ(users[0].path, "/mnt/swap file");
  EXPECT_EQ(users[0].release, "swapoff '/mnt/swap file'");
  EXPECT_EQ(users[1].detail, "partition");
}

TEST(NfsExports, AreReadFromTheServersList) {
  const test::RedirectedCalls calls;
  calls.put("/proc/fs/nfsd/exports",
            "# Version 1.1\n# Path Client(Flags) # IPs\n"
            "/srv/a\\040b\t10.0.0.0/8(rw,root_squash,sync,wdelay)\n");
  const std::vector<KernelUser> users = find_exports(calls);
  ASSERT_EQ(users.size(), 1U);
  EXPECT_EQ(users[0].path, "/srv/a b");
  EXPECT_EQ(users[0].release, "exportfs -u '10.0.0.0/8:/srv/a b'");
}

TEST(StackedDevices, AreDeviceMapperAndMd) {
  const test::RedirectedCalls calls;
  calls.put("/sys/dev/block/8:1/holders/dm-0", "");
  calls.put("/sys/dev/block/8:1/holders/md127", "");
  calls.put("/sys/block/dm-0/dm/name", "vg0-root\n");
  const std::vector<KernelUser> users = find_stacked_devices(calls, {8, 1});
  ASSERT_EQ(users.size(), 2U);
  EXPECT_EQ(users[0].path, "/dev/dm-0");
  EXPECT_EQ(users[0].detail, "vg0-root");
  EXPECT_EQ(users[0].release, "dmsetup remove vg0-root");
  EXPECT_EQ(users[1].release, "mdadm --stop /dev/md127");
}

TEST(Loops, MayHaveBackingFilesOfAnyName) {
  const test::RedirectedCalls calls;
  calls.put("/sys/block/loop3/loop/backing_file", "/mnt/a\nb (deleted)\n");
  calls.put("/sys/block/loop4/size", "0\n");
  calls.put("/sys/block/sda/size", "0\n");
  const std::vector<KernelUser> users = find_loops(calls);
  ASSERT_EQ(users.size(), 1U);
  EXPECT_EQ(users[0].path, "/mnt/a\nb (deleted)");
  EXPECT_EQ(users[0].release, "losetup -d /dev/loop3");
}

TEST(BinaryFormats, CountOnlyWhenTheyKeepTheInterpreterOpen) {
  const test::RedirectedCalls calls;
  const std::string place = "/proc/sys/fs/binfmt_misc/";
  calls.put(place + "register", "");
  calls.put(place + "status", "enabled\n");
  calls.put(place + "qemu-arm", "enabled\ninterpreter /usr/bin/qemu arm\nflags: OCF\noffset 0\nmagic 7f\n");
  calls.put(place + "java", "enabled\ninterpreter /usr/bin/java\nflags: \nextension .jar\n");
  const std::vector<KernelUser> users = find_binary_formats(calls);
  ASSERT_EQ(users.size(), 1U);
  EXPECT_EQ(users[0].path, "/usr/bin/qemu arm");
  EXPECT_EQ(users[0].release, "echo -1 > /proc/sys/fs/binfmt_misc/qemu-arm");
}

TEST(Uprobes, AreReadFromTracefs) {
  const test::RedirectedCalls calls;
  calls.put("/sys/kernel/tracing/uprobe_events",
            "p:uprobes/p_a /mnt/x: y/bin:0x0000000000001234 arg1=%di\nr:g/e /bin/true:0x10\n");
  const std::vector<KernelUser> users = find_uprobes(calls);
  ASSERT_EQ(users.size(), 2U);
  EXPECT_EQ(users[0].path, "/mnt/x: y/bin");
  EXPECT_EQ(users[0].detail, "uprobes/p_a");
  EXPECT_EQ(users[1].release, "echo -:g/e >> /sys/kernel/tracing/uprobe_events");
}

TEST(KernelUsers, AreNobodyWhereTheKernelHasNoneOfIt) {
  const test::RedirectedCalls calls;
  EXPECT_THAT(find_swap(calls), IsEmpty());
  EXPECT_THAT(find_exports(calls), IsEmpty());
  EXPECT_THAT(find_loops(calls), IsEmpty());
  EXPECT_THAT(find_stacked_devices(calls, {8, 1}), IsEmpty());
}

std::vector<std::string> layers_of(std::string_view options) {
  std::vector<std::string> out;
  for (const OverlayLayer& layer : overlay_layers(options))
    out.push_back(std::string(layer.option) + "=" + layer.path);
  return out;
}

TEST(OverlayLayers, AreTakenFromTheOptions) {
  EXPECT_THAT(layers_of("rw,lowerdir=/a:/b,upperdir=/u,workdir=/w,uuid=on"),
              ElementsAre("lowerdir=/a", "lowerdir=/b", "upperdir=/u", "workdir=/w"));
  EXPECT_THAT(layers_of("ro,lowerdir=/a::/data"), ElementsAre("lowerdir=/a", "lowerdir=/data"));
  EXPECT_THAT(layers_of("ro,lowerdir+=/a,datadir+=/d"), ElementsAre("lowerdir=/a", "lowerdir=/d"));
  // Colons and commas are escaped by a backslash, and the mount table escapes that again.
  EXPECT_THAT(layers_of("ro,lowerdir=/a\\134:b:/c\\134,d"), ElementsAre("lowerdir=/a:b", "lowerdir=/c,d"));
  EXPECT_THAT(layers_of("rw,size=1k"), IsEmpty());
}

}  // namespace
}  // namespace unmoor::gone::holders
