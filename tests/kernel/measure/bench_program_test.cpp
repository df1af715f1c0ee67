// SPDX-License-Identifier: MIT
// The whole program, ended in the middle: no mount, no directory, no loop device and no changed knob may be left.
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "measure/rcu_guard.h"
#include "support/mount_rights.h"

namespace unmoor::measure {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

bool within(std::chrono::milliseconds limit, const std::function<bool()>& holds) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!holds()) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(5ms);
  }
  return true;
}

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// `unmoor bench umount`, or another bench, in a directory of its own for temporary files, so that what it leaves can be
// told from what other people mount and attach.
class BenchProgram : public testing::Test {
 protected:
  void SetUp() override {
    UNMOOR_NEEDS_MOUNTS();
    temporary_ = fs::current_path() / "bench-tmp";
    fs::create_directories(temporary_);
  }
  void TearDown() override {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      (void)wait();
    }
    std::error_code ignored;
    fs::remove_all(temporary_, ignored);
  }

  void start(const std::vector<std::string>& options, const char* bench = "umount") {
    pid_ = fork();
    ASSERT_GE(pid_, 0);
    if (pid_ != 0) return;
    setenv("TMPDIR", temporary_.c_str(), 1);
    std::vector<std::string> words = {"unmoor", "bench", bench};
    words.insert(words.end(), options.begin(), options.end());
    std::vector<char*> argv;
    for (std::string& word : words)
      argv.push_back(word.data());
    argv.push_back(nullptr);
    if (freopen((temporary_ / "output").c_str(), "w", stdout) != nullptr) dup2(STDOUT_FILENO, STDERR_FILENO);
    execv(UNMOOR_PROGRAM, argv.data());
    _exit(127);
  }
  [[nodiscard]] std::string output() const { return text_of(temporary_ / "output"); }
  [[nodiscard]] int wait() {
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = 0;
    return status;
  }
  [[nodiscard]] bool mounted() const {
    return text_of("/proc/self/mountinfo").find(temporary_.string() + "/unmoor-bench-") != std::string::npos;
  }
  [[nodiscard]] bool directory_left() const {
    for (const auto& entry : fs::directory_iterator(temporary_)) {
      if (entry.path().filename().string().starts_with("unmoor-bench-")) return true;
    }
    return false;
  }
  // Loop devices whose file lies in the temporary directory.
  [[nodiscard]] bool loop_attached() const {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator("/sys/block", ignored)) {
      if (text_of(entry.path() / "loop/backing_file").find("bench-tmp") != std::string::npos) return true;
    }
    return false;
  }

  fs::path temporary_;
  pid_t pid_ = 0;
};

TEST_F(BenchProgram, MeasuresAndLeavesNothing) {
  start({"-r", "3", "--only", "umount,umount-l,held,elsewhere", "--json"});
  const int status = wait();
  ASSERT_EQ(status, 0) << output();
  EXPECT_THAT(output(), testing::HasSubstr("\"reference_over_this\""));
  EXPECT_FALSE(mounted());
  EXPECT_FALSE(directory_left());
}

std::size_t occurrences(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += what.size())
    ++found;
  return found;
}

bool has_program(const char* name) {
  return std::system((std::string("command -v ") + name + " >/dev/null").c_str()) == 0;
}

TEST_F(BenchProgram, WhoComparesTheProgramsAndLeavesNoProcess) {
  if (!has_program("lsof") || !has_program("fuser")) GTEST_SKIP() << "needs lsof and fuser";
  start({"-r", "2", "--only", "crowd", "--processes=20", "--descriptors=13", "--json"}, "who");
  const int status = wait();
  ASSERT_EQ(status, 0) << output();
  for (const char* const side : {"fuser -vm MOUNT", "lsof MOUNT", "unmoor who MOUNT"})
    EXPECT_THAT(output(), testing::HasSubstr(side));
  EXPECT_FALSE(mounted());
  EXPECT_FALSE(directory_left());
}

TEST_F(BenchProgram, WhoFindsEveryKindThatCanBePlanted) {
  start({"--only", "kinds", "--json"}, "who");
  const int status = wait();
  ASSERT_EQ(status, 0) << output();
  EXPECT_EQ(occurrences(output(), "\"unmoor who\": false"), 0U) << output();
  EXPECT_GE(occurrences(output(), "\"unmoor who\": true"), 12U) << output();
  EXPECT_FALSE(mounted());
  EXPECT_TRUE(within(10s, [&] { return !loop_attached() && !directory_left(); }));
}

TEST_F(BenchProgram, WhoMeasuresHowSoonAWaitEnds) {
  if (geteuid() != 0 || access("/dev/loop-control", W_OK) != 0) GTEST_SKIP() << "needs root: loop devices";
  start({"-r", "3", "--only", "wait,wait-dirty", "--dirty=2", "--json"}, "who");
  const int status = wait();
  ASSERT_EQ(status, 0) << output();
  EXPECT_EQ(occurrences(output(), "\"p99\""), 2U);
  EXPECT_FALSE(mounted());
  EXPECT_TRUE(within(10s, [&] { return !loop_attached() && !directory_left(); }));
}

TEST_F(BenchProgram, EverySignalLeavesNoMountInItsOwnNamespace) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root: an ordinary user's bench mounts in a private namespace only";
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGKILL}) {
    start({"-r", "100000", "--only", "umount-l"});
    ASSERT_TRUE(within(10s, [&] { return mounted(); })) << output();
    std::this_thread::sleep_for(50ms);
    kill(pid_, signal);
    const int status = wait();
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal) << "signal " << signal << ", status " << status;
    EXPECT_TRUE(within(5s, [&] { return !mounted() && !directory_left(); })) << "signal " << signal << ", " << output();
  }
}

TEST_F(BenchProgram, EverySignalLeavesNoLoopDevice) {
  if (geteuid() != 0 || access("/dev/loop-control", W_OK) != 0) GTEST_SKIP() << "needs root: loop devices";
  for (const int signal : {SIGINT, SIGTERM, SIGKILL}) {
    start({"-r", "100000", "--only", "dirty-ext4", "--dirty=16"});
    const bool attached = within(20s, [&] { return loop_attached() || waitpid(pid_, nullptr, WNOHANG | WNOWAIT) > 0; });
    ASSERT_TRUE(attached && loop_attached()) << output();
    std::this_thread::sleep_for(300ms);
    kill(pid_, signal);
    (void)wait();
    EXPECT_TRUE(within(20s, [&] { return !loop_attached() && !directory_left(); })) << "signal " << signal;
  }
}

TEST_F(BenchProgram, EverySignalPutsTheKnobBack) {
  if (access("/sys/kernel/rcu_normal", W_OK) != 0) GTEST_SKIP() << "needs root: cannot write /sys/kernel/rcu_normal";
  const auto resting = [] {
    const Result<RcuGuard> lock = RcuGuard::set({.knobs = {}, .wait_for_lock = 100s});
    return lock ? read_rcu_knobs(kernel::SystemCalls::real()).normal.value_or(-1) : -2;
  };
  const int before = resting();
  for (const int signal : {SIGINT, SIGTERM, SIGKILL}) {
    start({"-r", "100000", "--only", "elsewhere", "--rcu=normal", "--wait=100"});
    ASSERT_TRUE(within(100s, [&] { return directory_left(); })) << output();
    std::this_thread::sleep_for(200ms);
    kill(pid_, signal);
    (void)wait();
    EXPECT_EQ(resting(), before) << "signal " << signal;
  }
}

TEST_F(BenchProgram, TwoRefuseEachOtherWithOneLine) {
  if (access("/sys/kernel/rcu_normal", W_OK) != 0) GTEST_SKIP() << "needs root: cannot write /sys/kernel/rcu_normal";
  RcuGuard::Options only_the_lock;
  only_the_lock.wait_for_lock = 100s;
  const Result<RcuGuard> other = RcuGuard::set(only_the_lock);
  ASSERT_TRUE(other);
  start({"-r", "2", "--only", "umount-l", "--rcu=normal"});
  const int status = wait();
  EXPECT_EQ(WEXITSTATUS(status), 1);
  EXPECT_THAT(output(), testing::HasSubstr("locked by process " + std::to_string(getpid())));
  EXPECT_THAT(output(), testing::HasSubstr("HINT: --wait=SECONDS"));
}

TEST_F(BenchProgram, UnknownScenarioIsOneLine) {
  start({"--only", "nothing"});
  EXPECT_EQ(WEXITSTATUS(wait()), 1);
  EXPECT_THAT(output(), testing::StartsWith("unmoor bench: no scenario 'nothing'\nHINT: "));
}

}  // namespace
}  // namespace unmoor::measure
