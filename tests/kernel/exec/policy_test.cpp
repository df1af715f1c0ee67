// SPDX-License-Identifier: MIT
// What may return early and what may not, with real runtimes under normal grace periods where the machine lets us have
// them.
#include <cstdio>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>

#include "container.h"
#include "measure/rcu_guard.h"

namespace unmoor::test {
namespace {

using testing::HasSubstr;
using testing::Not;

// Normal grace periods make "a moment too early" milliseconds long; without them the tests still run.
std::optional<measure::RcuGuard> slow_grace_periods() {
  auto guard = measure::RcuGuard::set(
      {.knobs = {.normal = 1, .expedited = std::nullopt}, .wait_for_lock = std::chrono::seconds(30)});
  if (!guard) return std::nullopt;
  return std::move(*guard);
}

// The report of a run under exec, as far as `wanted` says.
std::string report_of(const Words& command, const std::string& options, const Words& wanted, int expected = 0) {
  std::remove("report");
  Words with = {"--report=report"};
  if (!options.empty()) with.push_back(options);
  const Ran ran = run(under_exec(command, with));
  EXPECT_EQ(ran.status, expected) << ran.out;
  return wait_for_report(wanted);
}

TEST(ExecPolicy, CrunAndBwrapAreTakenOver) {
  UNMOOR_NEEDS_CRUN();
  const auto guard = slow_grace_periods();
  const std::string crun =
      report_of(crun_run(make_bundle("taken", {"/probe", "exit", "0"}), "taken"), "", {"deferred", "let go"});
  EXPECT_THAT(crun, HasSubstr("deferred"));
  EXPECT_THAT(crun, HasSubstr("kept"));
  EXPECT_THAT(crun, HasSubstr("let go"));
  if (!installed("bwrap")) return;
  const std::string bwrap = report_of(
      {"bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-pid", "true"}, "", {"oldroot"});
  EXPECT_THAT(bwrap, HasSubstr("oldroot"));
  EXPECT_THAT(bwrap, Not(HasSubstr("plain")));
}

TEST(ExecPolicy, AutoKeepsNoNamespaceAndNeverTakesNothingOver) {
  UNMOOR_NEEDS_CRUN();
  const Words command = crun_run(make_bundle("auto", {"/probe", "exit", "0"}), "auto");
  EXPECT_THAT(report_of(command, "--defer=auto", {"deferred"}), Not(HasSubstr("kept")));
  EXPECT_EQ(report_of(command, "--defer=never", {}).find("deferred"), std::string::npos);
}

TEST(ExecPolicy, AReportInJsonIsOneObjectALine) {
  UNMOOR_NEEDS_CRUN();
  std::remove("report");
  const Ran ran =
      run(under_exec(crun_run(make_bundle("json", {"/probe", "exit", "0"}), "json"), {"--report=report", "--json"}));
  EXPECT_EQ(ran.status, 0) << ran.out;
  EXPECT_THAT(wait_for_report({R"("what":"deferred")"}), HasSubstr(R"("what":"deferred")"));
  if (!installed("python3")) GTEST_SKIP() << "needs python3";
  EXPECT_EQ(shell("python3 -c 'import json\nfor l in open(\"report\"): json.loads(l)'").status, 0);
}

class ExecVolume : public testing::Test {
 protected:
  void SetUp() override {
    UNMOOR_NEEDS_CRUN();
    if (geteuid() != 0) GTEST_SKIP() << "needs root: loop devices";
    if (shell("truncate -s 16M image && mkfs.ext4 -q image").status != 0) GTEST_SKIP() << "needs mkfs.ext4";
    const Ran made = shell("losetup -f --show image");
    if (made.status != 0) GTEST_SKIP() << "needs a loop device: " << made.out;
    loop_ = made.out.substr(0, made.out.find('\n'));
  }
  void TearDown() override {
    umount2("elsewhere", MNT_DETACH);
    if (!loop_.empty()) shell("losetup -d " + loop_);
  }
  // In the very moment in which the runtime has returned.
  bool device_is_free() const {
    const int fd = open(loop_.c_str(), O_RDWR | O_EXCL | O_CLOEXEC);
    if (fd >= 0) close(fd);
    return fd >= 0;
  }
  std::string volume() const {
    return ",\n{\"destination\":\"/volume\",\"type\":\"ext4\",\"source\":\"" + loop_ + "\"}";
  }
  std::string loop_;
};

TEST_F(ExecVolume, WithoutAnotherMountIsFreeWhenTheRuntimeReturns) {
  const auto guard = slow_grace_periods();
  const std::string bundle = make_bundle("alone", {"/probe", "exit", "0"}, volume());
  EXPECT_THAT(report_of(crun_run(bundle, "alone"), "", {"crun."}), HasSubstr("crun.")) << "the broker was there";
  for (const char* defer : {"--defer=elsewhere", "--defer=auto"}) {
    for (int i = 0; i < times(100); ++i) {
      const Ran ran = run(under_exec(crun_run(bundle, "alone"), {defer}));
      ASSERT_EQ(ran.status, 0) << ran.out;
      ASSERT_TRUE(device_is_free()) << defer << ", round " << i;
      ASSERT_EQ(shell("mkfs.ext4 -q -F " + loop_).status, 0) << defer << ", round " << i;
    }
  }
}

TEST_F(ExecVolume, WithAnotherMountIsReturnedEarlyFrom) {
  ASSERT_EQ(mkdir("elsewhere", 0755), 0);
  ASSERT_EQ(mount(loop_.c_str(), "elsewhere", "ext4", 0, nullptr), 0);
  // The broker lives in this namespace, which is not pid 1's: it would hold the volume itself.
  EXPECT_THAT(report_of(crun_run(make_bundle("both", {"/probe", "exit", "0"}, volume()), "both"), "", {"private"}),
              HasSubstr("private mount namespace"));
}

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

TEST(ExecRuntime, RootlessBwrapAndCrun) {
  UNMOOR_NEEDS_BWRAP();
  if (geteuid() != 0 || !installed("setpriv")) GTEST_SKIP() << "needs root and setpriv to become somebody else";
  const Words nobody = {"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"};
  const Words bwrap = {"bwrap",          "--ro-bind",     "/",  "/",  "--dev",        "/dev", "--proc", "/proc",
                       "--unshare-user", "--unshare-pid", "sh", "-c", "id -u; exit 4"};
  const auto as_nobody = [&](const Words& command) {
    Words words = nobody;
    words.insert(words.end(), command.begin(), command.end());
    return run(words);
  };
  if (as_nobody({"unshare", "-Ur", "true"}).status != 0) GTEST_SKIP() << "needs user namespaces for everybody";
  ASSERT_EQ(chmod(".", 0777), 0);
  std::remove("report");
  if (as_nobody({UNMOOR_PROGRAM, "--version"}).status != 0) GTEST_SKIP() << "needs a build tree that others may read";
  const Ran plain = as_nobody(bwrap);
  const Ran helped = as_nobody(under_exec(bwrap, {"--report=report"}));
  EXPECT_EQ(helped.status, plain.status);
  EXPECT_EQ(helped.out, plain.out);
  EXPECT_THAT(wait_for_report({"deferred"}), HasSubstr("deferred"));
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
  std::string left;
  for (int i = 0; i < 100; ++i) {
    left = shell(
               "for p in /proc/[0-9]*; do [ \"$(cat $p/comm 2>/dev/null)\" = unmoor-broker ] && "
               "[ \"$(readlink $p/ns/mnt)\" = \"$(readlink /proc/self/ns/mnt)\" ] && echo $p; done; true")
               .out;
    if (left.empty()) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(left, "");
}

}  // namespace
}  // namespace unmoor::test
