// SPDX-License-Identifier: MIT
// Whoever dies, stops or has no room: the program goes on as if there had never been a broker, and nothing is left.
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <sstream>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>

#include "container.h"
#include "kernel/unique_fd.h"
#include "slow_grace_periods.h"

namespace unmoor::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::HasSubstr;
using testing::Not;

// A program under exec in the background.
class Background {
 public:
  explicit Background(const Words& command) : pid_(fork()) {
    if (pid_ != 0) return;
    const std::string script = "exec \"$@\" </dev/null >background.out 2>&1";
    std::vector<const char*> words{"sh", "-c", script.c_str(), "sh"};
    for (const std::string& word : command)
      words.push_back(word.c_str());
    words.push_back(nullptr);
    execv("/bin/sh", const_cast<char* const*>(words.data()));  // NOLINT: execv's types
    _exit(127);
  }
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;
  ~Background() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  [[nodiscard]] pid_t pid() const { return pid_; }
  // The status, or -1 when it takes longer than that.
  int wait(milliseconds at_most) {
    const auto deadline = steady_clock::now() + at_most;
    int status = -1;
    while (waitpid(pid_, &status, WNOHANG) == 0) {
      if (steady_clock::now() > deadline) return -1;
      std::this_thread::sleep_for(milliseconds(1));
    }
    pid_ = -1;
    return status;
  }

 private:
  pid_t pid_;
};

class ExecDeath : public testing::Test {
 protected:
  void SetUp() override {
    UNMOOR_NEEDS_CRUN();
    guard_ = slow_grace_periods();
    bundle_ = make_bundle("death", {"/probe", "exit", "42"});
  }
  [[nodiscard]] Words command(const std::string& id) const { return under_exec(crun_run(bundle_, id)); }

  std::optional<measure::RcuGuard> guard_;
  std::string bundle_;
};

// Every broker process is killed after a delay that sweeps over the whole life of a container.
TEST_F(ExecDeath, ABrokerKilledAtAnyMomentIsNotMissed) {
  const int rounds = times(400);
  for (int i = 0; i < rounds; ++i) {
    Background program(command("killed" + std::to_string(i)));
    const auto delay = std::chrono::microseconds(40'000 * i / rounds);
    std::this_thread::sleep_for(delay);
    for (const pid_t broker : brokers())
      kill(broker, SIGKILL);
    EXPECT_EQ(program.wait(milliseconds(5000)), 42 << 8)
        << "killed after " << delay.count() << " us: " << read_file("background.out");
  }
  EXPECT_TRUE(all_brokers_have_ended());
}

// Stopped is worse than dead: no descriptor closes. The shim waits a second for each of the two answers at most.
TEST_F(ExecDeath, AStoppedBrokerHoldsNobodyUpForLong) {
  const int rounds = times(40);
  for (int i = 0; i < rounds; ++i) {
    Background program(command("stopped" + std::to_string(i)));
    std::this_thread::sleep_for(std::chrono::microseconds(40'000 * i / rounds));
    const std::vector<pid_t> stopped = brokers();
    for (const pid_t broker : stopped)
      kill(broker, SIGSTOP);
    EXPECT_EQ(program.wait(milliseconds(15'000)), 42 << 8) << "round " << i << ": " << read_file("background.out");
    for (const pid_t broker : stopped)
      kill(broker, SIGCONT);
    EXPECT_TRUE(all_brokers_have_ended());
  }
}

// The mounts of this namespace, but for the copies of itself that a crun leaves behind when it is killed between its
// own mount and its own umount, with or without us.
std::string mounts_but_copies_of_crun() {
  std::istringstream table(read_file("/proc/self/mountinfo"));
  std::string kept;
  for (std::string line; std::getline(table, line);) {
    if (!line.contains(" /tmp/crun.")) kept += line + "\n";
  }
  return kept;
}

TEST_F(ExecDeath, AKilledProgramTakesItsBrokerAlong) {
  const std::string mounts = mounts_but_copies_of_crun();
  const int rounds = times(100);
  for (int i = 0; i < rounds; ++i) {
    const std::string id = "program" + std::to_string(i);
    {
      Background program(command(id));
      std::this_thread::sleep_for(std::chrono::microseconds(30'000 * i / rounds));
    }
    shell("crun --cgroup-manager=disabled delete --force " + id);
  }
  EXPECT_TRUE(all_brokers_have_ended());
  EXPECT_EQ(mounts_but_copies_of_crun(), mounts);
}

TEST_F(ExecDeath, WhoDoesNotReadTheReportHoldsNobodyUp) {
  ASSERT_EQ(mkfifo("fifo", 0600), 0);
  Background unheard(under_exec({"true"}, {"--report=fifo"}));
  EXPECT_EQ(unheard.wait(milliseconds(5000)), 0);
  EXPECT_THAT(read_file("background.out"), HasSubstr("the program runs as it is"));
  const kernel::UniqueFd reader(open("fifo", O_RDWR | O_NONBLOCK | O_CLOEXEC));
  const std::string line(4096, 'x');
  while (write(reader.get(), line.data(), line.size()) > 0) {
  }
  if (!copy_umount()) GTEST_SKIP() << "needs umount";
  ASSERT_EQ(mkdir("m", 0755), 0);
  ASSERT_EQ(mount("t", "m", "tmpfs", 0, nullptr), 0);
  // The broker has more than one thing to write about, and the second request would find it writing.
  Background program(under_exec({"sh", "-c", "./umount -l m; mount -t tmpfs t m; ./umount -l m"}, {"--report=fifo"}));
  const auto begin = steady_clock::now();
  EXPECT_EQ(program.wait(milliseconds(5000)), 0) << read_file("background.out");
  EXPECT_LT(steady_clock::now() - begin, milliseconds(900)) << "waited for the broker";
  EXPECT_TRUE(all_brokers_have_ended());
}

// A process 1 that reaps only what it started itself finds one stranger for each run, as documented, and no more.
TEST_F(ExecDeath, NoWorkerOutlivesItsBroker) {
  if (!installed("python3")) GTEST_SKIP() << "needs python3";
  const Ran ran = run({"unshare", "--pid", "--fork", "--mount-proc", "python3", "-c",
                       "import os,subprocess,time\n"
                       "assert os.getpid() == 1\n"
                       "for i in range(20):\n"
                       "  subprocess.run(['" UNMOOR_PROGRAM "', 'exec', '--force', '--', 'true'], check=True)\n"
                       "def states():\n"
                       "  found = []\n"
                       "  for pid in filter(str.isdigit, os.listdir('/proc')):\n"
                       "    try:\n"
                       "      with open(f'/proc/{pid}/stat') as stat: words = stat.read().split()\n"
                       "    except OSError: continue\n"
                       "    if words[1] == '(unmoor-broker)': found.append(words[2])\n"
                       "  return found\n"
                       "while set(states()) - {'Z'}: time.sleep(0.01)\n"
                       "print(len(states()))\n"});
  EXPECT_EQ(ran.status, 0);
  EXPECT_EQ(ran.out, "20\n");
}

// With every descriptor number taken there is none for the request: the plain call is made.
TEST_F(ExecDeath, AProgramWithoutDescriptorsMakesThePlainCall) {
  if (!installed("python3")) GTEST_SKIP() << "needs python3";
  ASSERT_EQ(mkdir("m", 0755), 0);
  ASSERT_EQ(mount("t", "m", "tmpfs", 0, nullptr), 0);
  const Ran ran = run(under_exec({"python3", "-c",
                                  "import ctypes,os,resource\n"
                                  "umount2 = ctypes.CDLL(None).umount2\n"
                                  "resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20))\n"
                                  "try:\n"
                                  "  while True: os.dup(0)\n"
                                  "except OSError: pass\n"
                                  "os._exit(umount2(b'm', 2) and 1)"},
                                 {"--defer=always", "--report=report"}));
  EXPECT_EQ(ran.status, 0) << ran.out;
  EXPECT_THAT(read_file("/proc/self/mountinfo"), Not(HasSubstr("/m rw")));
}

}  // namespace
}  // namespace unmoor::test
