// SPDX-License-Identifier: MIT
// Whole runtimes as people use them: separate calls, rootless, nested, below a container engine, many at once.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>

#include "container.h"
#include "slow_grace_periods.h"
#include "support/for_everybody.h"

namespace unmoor::test {
namespace {

using testing::HasSubstr;

TEST(ExecRuntime, CreateStartKillDeleteAsSeparateCalls) {
  UNMOOR_NEEDS_CRUN();
  const auto guard = slow_grace_periods();
  ASSERT_EQ(shell("ln -sf " UNMOOR_PROGRAM " unmoor-crun").status, 0);
  const std::string bundle = make_bundle("steps", {"/probe", "facts"});
  const std::string crun = "./unmoor-crun --cgroup-manager=disabled ";
  EXPECT_EQ(shell("./unmoor-crun --version").out, shell("crun --version").out);
  EXPECT_EQ(shell(crun + "create -b " + bundle + " steps >out 2>&1").status, 0) << shell("cat out").out;
  EXPECT_THAT(shell(crun + "state steps").out, HasSubstr("created"));
  EXPECT_EQ(shell(crun + "start steps").status, 0);
  EXPECT_EQ(shell("sleep 0.2; " + crun + "delete --force steps").status, 0);
  EXPECT_NE(shell(crun + "state steps").status, 0);
  EXPECT_THAT(shell("cat out").out, HasSubstr("A=1\nB=two words\n"));

  const std::string sleeping = make_bundle("sleeping", {"/probe", "facts"});
  EXPECT_EQ(shell(crun + "create -b " + sleeping + " sleeping >out 2>&1").status, 0) << shell("cat out").out;
  EXPECT_EQ(shell(crun + "kill sleeping KILL").status, 0);
  EXPECT_EQ(shell("sleep 0.2; " + crun + "delete sleeping").status, 0);
}

TEST(ExecRuntime, APayloadThatUnmountsAndRunsBwrapItself) {
  UNMOOR_NEEDS_BWRAP();
  const Words bwrap = {"bwrap", "--bind", "/", "/", "--dev", "/dev", "--proc", "/proc"};
  Words outer = bwrap;
  outer.insert(outer.end(), {"sh", "-c",
                             "mount -t tmpfs x /mnt && echo a >/mnt/f && umount -l /mnt && test ! -e /mnt/f && "
                             "exec bwrap --bind / / --dev /dev --proc /proc sh -c 'echo inner; exit 5'"});
  const Ran plain = run(outer);
  const Ran helped = run(under_exec(outer));
  EXPECT_EQ(helped.status, plain.status);
  EXPECT_EQ(helped.out, plain.out);
}

// Runs things as a user without privileges.
class ExecRootless : public testing::Test {
 protected:
  void SetUp() override {
    UNMOOR_NEEDS_MOUNTS();
    if (geteuid() != 0 || !installed("setpriv")) GTEST_SKIP() << "needs root and setpriv to become somebody else";
    ASSERT_EQ(chmod(".", 0777), 0);
    if (as_nobody({"unshare", "-Ur", "true"}).status != 0) GTEST_SKIP() << "needs user namespaces for everybody";
  }
  static Ran as_nobody(const Words& command) {
    Words words = {"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"};
    words.insert(words.end(), command.begin(), command.end());
    return run(words);
  }
  static void expect_the_same_but_early(const Words& command) {
    std::remove("report");
    const Ran plain = as_nobody(command);
    Words with_us = under_exec(command, {"--report=report"});
    with_us[0] = for_everybody(UNMOOR_PROGRAM);
    const Ran helped = as_nobody(with_us);
    EXPECT_EQ(helped.status, plain.status);
    EXPECT_EQ(helped.out, plain.out);
    EXPECT_THAT(wait_for_report({"deferred"}), tells_of_a_helped_unmount());
  }
};

TEST_F(ExecRootless, Bwrap) {
  UNMOOR_NEEDS_BWRAP();
  expect_the_same_but_early({"bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-user",
                             "--unshare-pid", "sh", "-c", "id -u; exit 4"});
}

TEST_F(ExecRootless, Crun) {
  UNMOOR_NEEDS_CRUN();
  const std::string bundle = make_bundle("rootless", {"/probe", "exit", "4"});
  ASSERT_EQ(shell("sed -i 's/{\"type\":\"mount\"}]/{\"type\":\"mount\"},{\"type\":\"user\"}],"
                  "\"uidMappings\":[{\"containerID\":0,\"hostID\":65534,\"size\":1}],"
                  "\"gidMappings\":[{\"containerID\":0,\"hostID\":65534,\"size\":1}]/' rootless/config.json")
                .status,
            0);
  const Words command = {"crun", "--root",  bundle + "/../state", "--cgroup-manager=disabled", "run", "-b",
                         bundle, "rootless"};
  const Ran plain = as_nobody(command);
  if (plain.status != 4 << 8) GTEST_SKIP() << "needs a crun that works rootless: " << plain.out;
  expect_the_same_but_early(command);
}

// podman runs conmon, conmon runs the runtime: create, start, delete are calls of their own.
TEST(ExecRuntime, Podman) {
  UNMOOR_NEEDS_CRUN();
  if (geteuid() != 0 || !installed("podman")) GTEST_SKIP() << "needs root and podman";
  const auto guard = slow_grace_periods();
  std::remove("report");
  const std::string here = std::filesystem::current_path();
  const std::string rootfs = make_bundle("podman", {}) + "/rootfs";
  ASSERT_EQ(shell("mkdir -p store run tmp podman/rootfs/etc podman/rootfs/run podman/rootfs/sys podman/rootfs/tmp && "
                  "ln -sf " UNMOOR_PROGRAM " unmoor-crun")
                .status,
            0);
  std::ofstream("crun-with-report") << "#!/bin/sh\nexec " UNMOOR_PROGRAM " exec --force --quiet --report=" << here
                                    << "/report -- crun \"$@\"\n";
  ASSERT_EQ(chmod("crun-with-report", 0755), 0);
  std::ofstream("containers.conf")
      << "[engine]\nruntime_supports_nocgroup=[\"crun\",\"unmoor-crun\",\"crun-with-report\"]\n[engine.runtimes]\n"
      << "unmoor-crun=[\"" << here << "/unmoor-crun\"]\ncrun-with-report=[\"" << here << "/crun-with-report\"]\n";
  const auto podman = [&](const std::string& runtime, const std::string& payload) {
    return shell(
        "CONTAINERS_CONF=$PWD/containers.conf TMPDIR=$PWD/tmp podman --root $PWD/store --runroot $PWD/run "
        "--tmpdir $PWD/tmp --storage-driver vfs --cgroup-manager=cgroupfs --events-backend=none --runtime " +
        runtime +
        " run --rm --cgroups=disabled --network=none --hostname=h --ulimit nofile=1024:1024 "
        "--ulimit nproc=1000:1000 --rootfs " +
        rootfs + " /probe " + payload);
  };
  const Ran plain = podman("crun", "exit 42");
  if (plain.status != 42 << 8) GTEST_SKIP() << "needs a machine on which podman runs: " << plain.out;
  EXPECT_EQ(podman("unmoor-crun", "exit 42").status, 42 << 8);
  // podman puts the environment in any order.
  EXPECT_EQ(podman("crun-with-report", "facts | sort").out, podman("crun", "facts | sort").out);
  const std::string report = wait_for_report({"deferred", "let go"});
  EXPECT_THAT(report, tells_of_a_helped_unmount());
  EXPECT_THAT(report, HasSubstr("let go"));
  EXPECT_TRUE(all_brokers_have_ended());
}

TEST(ExecRuntime, NothingIsLeftBehind) {
  UNMOOR_NEEDS_CRUN();
  const auto guard = slow_grace_periods();
  const std::string bundle = make_bundle("many", {"/probe", "exit", "0"});
  const std::string mounts = shell("wc -l </proc/self/mountinfo").out;
  const Ran ran = shell("for i in $(seq " + std::to_string(times(100)) +
                        "); do echo $i; done | xargs -P 8 -I NUMBER " UNMOOR_PROGRAM
                        " exec --force -- crun --cgroup-manager=disabled run -b " +
                        bundle + " many-NUMBER");
  EXPECT_EQ(ran.status, 0) << ran.out;
  EXPECT_EQ(shell("wc -l </proc/self/mountinfo").out, mounts);
  // Every broker of this namespace ends within a grace period of its program.
  EXPECT_TRUE(all_brokers_have_ended());
}

}  // namespace
}  // namespace unmoor::test
