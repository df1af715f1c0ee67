// SPDX-License-Identifier: MIT
// What may return early and what may not, with real runtimes under normal grace periods where the machine lets us have
// them.
#include <cstdio>
#include <fcntl.h>
#include <fstream>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>

#include "container.h"
#include "slow_grace_periods.h"

namespace unmoor::test {
namespace {

using testing::HasSubstr;
using testing::Not;

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

// A broker that lives in the namespace of the other mount would hold the volume itself, past the namespace's end.
TEST_F(ExecVolume, WithAnotherMountInAPrivateNamespaceGetsNoBroker) {
  ASSERT_EQ(shell("mkdir -p elsewhere").status, 0);
  ASSERT_EQ(mount(loop_.c_str(), "elsewhere", "ext4", 0, nullptr), 0);
  EXPECT_THAT(report_of(crun_run(make_bundle("both", {"/probe", "exit", "0"}, volume()), "both"), "", {"private"}),
              HasSubstr("private mount namespace"));
}

// So the broker ends when the volume is mounted there only later.
TEST_F(ExecVolume, ThatIsMountedWhereTheBrokerLivesEndsIt) {
  const auto guard = slow_grace_periods();
  ASSERT_EQ(shell("mkdir -p elsewhere").status, 0);
  EXPECT_THAT(report_of({"sh", "-c",
                         "sleep 0.05; mount -t ext4 " + loop_ +
                             " elsewhere; sleep 0.05; umount -l elsewhere && exec " UNMOOR_PROBE " exclusive " + loop_},
                        "", {"ends"}),
              HasSubstr("a filesystem was mounted here that must not be held"));
}

// The other mount is in the namespace of process 1: here, of a pid namespace made for the test.
TEST_F(ExecVolume, WithAnotherMountOutsideGoesByThePolicy) {
  const auto guard = slow_grace_periods();
  const std::string bundle = make_bundle("outside", {"/probe", "exit", "0"}, volume());
  ASSERT_EQ(shell("mkdir -p elsewhere").status, 0);
  const auto rounds_with = [&](const std::string& defer) {
    std::remove("report");
    return shell(
        "unshare --mount --propagation private --pid --fork --mount-proc sh -c '"
        "for i in $(seq " +
        std::to_string(times(100)) +
        "); do "
        "mount -t ext4 " +
        loop_ + " elsewhere && " UNMOOR_PROGRAM " exec --force --report=report --defer=" + defer +
        " -- crun --cgroup-manager=disabled run -b " + bundle +
        " outside && umount elsewhere && until " UNMOOR_PROBE " exclusive " + loop_ +
        "; do echo busy; sleep 0.01; done; done'");
  };
  const Ran early = rounds_with("elsewhere");
  EXPECT_EQ(early.status, 0) << early.out;
  EXPECT_THAT(read_file("report"), HasSubstr("kept"));
  EXPECT_THAT(read_file("report"), Not(HasSubstr("private mount namespace")));
  // Nobody can tell: the device is free when the other mount is gone, whoever unmounts it and however soon.
  const Ran unseen = rounds_with("auto");
  EXPECT_EQ(unseen.status, 0) << unseen.out;
  EXPECT_THAT(unseen.out, Not(HasSubstr("busy")));
  EXPECT_THAT(read_file("report"), Not(HasSubstr("kept")));
  EXPECT_THAT(read_file("report"), HasSubstr("plain"));
}

// The volume is mounted in the namespace of process 1 and in that of a program under exec. `first` is what process 1
// does meanwhile; the program, with a tmpfs each on `m` and `n`, does `second` and ends. Then the volume has to be
// free.
Ran with_a_volume_inside_and_outside(const std::string& loop, const std::string& first, const std::string& second) {
  std::ofstream("second.py") << "import ctypes, os, time\n"
                                "def wait_for(name):\n"
                                "  while not os.path.exists(name): time.sleep(0.01)\n"
                                "detach = lambda name: libc.umount2(name, 2) and os._exit(1)\n"
                                "tell = lambda name: open(name, 'w').close()\n"
                                "libc = ctypes.CDLL(None)\n"
                                "for name in b'm', b'n': libc.mount(name, name, b'tmpfs', 0, None)\n"
                             << second;
  std::ofstream("first.sh") << "mount -t ext4 " << loop << " elsewhere\n"
                            << UNMOOR_PROGRAM << " exec --force --report=report -- "
                            << "unshare --mount --propagation private python3 second.py &\n"
                            << first << "\nwait $! && exec " UNMOOR_PROBE " exclusive " << loop << "\n";
  return shell(
      "rm -f gone ready detached report; mkdir -p elsewhere m n && "
      "unshare --mount --propagation private --pid --fork --mount-proc sh first.sh");
}

// Nothing has been heard of the broker since the volume was mounted outside.
TEST_F(ExecVolume, ThatWentOutsideBeforeTheRequestKeepsNoNamespace) {
  if (!installed("python3")) GTEST_SKIP() << "needs python3";
  const auto guard = slow_grace_periods();
  for (int i = 0; i < times(30); ++i) {
    const Ran ran =
        with_a_volume_inside_and_outside(loop_, "until [ -e ready ]; do sleep 0.01; done; umount elsewhere; touch gone",
                                         "tell('ready'); wait_for('gone'); detach(b'm')");
    ASSERT_EQ(ran.status, 0) << "round " << i << ": " << ran.out << read_file("report");
    const std::string report = wait_for_report({"plain"});
    ASSERT_THAT(report, HasSubstr("private mount namespace holds a filesystem"));
    ASSERT_THAT(report, Not(HasSubstr("kept")));
  }
}

TEST_F(ExecVolume, ThatGoesOutsideLaterEndsTheKeeping) {
  if (!installed("python3")) GTEST_SKIP() << "needs python3";
  const auto guard = slow_grace_periods();
  for (int i = 0; i < times(30); ++i) {
    const Ran ran = with_a_volume_inside_and_outside(
        loop_, "until [ -e detached ]; do sleep 0.01; done; umount elsewhere; touch gone",
        "detach(b'm'); detach(b'n'); time.sleep(0.05); tell('detached'); wait_for('gone')");
    ASSERT_EQ(ran.status, 0) << "round " << i << ": " << ran.out << read_file("report");
    ASSERT_THAT(wait_for_report({"any more"}), HasSubstr("may not be released late any more"));
  }
}

}  // namespace
}  // namespace unmoor::test
