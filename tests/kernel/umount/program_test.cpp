// SPDX-License-Identifier: MIT
// The program itself: what it starts with, what it must not touch, and how it is interrupted.
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "support/mount_rights.h"

namespace unmoor::test {
namespace {

using Clock = std::chrono::steady_clock;

std::string read_all(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::size_t occurrences(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += what.size())
    ++found;
  return found;
}

class UmountProgram : public testing::Test {
 protected:
  void SetUp() override {
    UNMOOR_NEEDS_MOUNTS();
    char* const here = get_current_dir_name();
    here_ = here;
    std::free(here);
    top_ = here_ + "/program";
    (void)mkdir(top_.c_str(), 0755);
    ASSERT_EQ(mount("top", top_.c_str(), "tmpfs", 0, nullptr), 0);
  }
  void TearDown() override {
    if (top_.empty()) return;
    while (umount2(top_.c_str(), MNT_DETACH) == 0) {
    }
  }

  void mount_at(const std::string& name) const {
    const std::string path = top_ + "/" + name;
    (void)mkdir(path.c_str(), 0755);
    ASSERT_EQ(mount(name.c_str(), path.c_str(), "tmpfs", 0, "size=4k"), 0);
  }
  [[nodiscard]] std::size_t left() const { return occurrences(read_all("/proc/self/mountinfo"), " " + top_); }

  // Starts `unmoor umount ARGUMENTS`, its output and complaints in files.
  [[nodiscard]] pid_t start(std::vector<std::string> arguments, const char* variable = nullptr) const {
    const pid_t child = fork();
    if (child != 0) return child;
    const int out = open((here_ + "/out").c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
    const int err = open((here_ + "/err").c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    if (variable != nullptr) setenv("LD_DEBUG", variable, 1);
    std::vector<char*> argv{const_cast<char*>("unmoor"), const_cast<char*>("umount")};  // NOLINT: execv's type
    for (std::string& argument : arguments)
      argv.push_back(argument.data());
    argv.push_back(nullptr);
    execv(UNMOOR_PROGRAM, argv.data());
    _exit(99);
  }
  [[nodiscard]] static int end_of(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  std::string here_;
  std::string top_;
};

TEST_F(UmountProgram, TheFastCaseLoadsNoLibmountAndNothingElse) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root: an ordinary user's unmounts are libmount's";
  for (const char* const option : {"-v", "-l", "-R"}) {
    mount_at("a");
    EXPECT_EQ(end_of(start({option, top_ + "/a"}, "files")), 0) << option;
    const std::string loaded = read_all(here_ + "/err");
    EXPECT_NE(loaded.find("libc.so"), std::string::npos) << "the check itself does not see anything";
    EXPECT_EQ(loaded.find("libmount"), std::string::npos) << option;
    EXPECT_EQ(loaded.find("libstdc++"), std::string::npos) << option;
  }
  EXPECT_NE(end_of(start({"LABEL=nothere"}, "files")), 0);
  EXPECT_NE(read_all(here_ + "/err").find("libmount"), std::string::npos) << "a tag is libmount's business";
}

TEST_F(UmountProgram, InterruptedInTheMiddleItStillSaysWhatWentAndWhatStays) {
  const int count = std::getenv("UNMOOR_LONG") != nullptr ? 20000 : 2000;
  for (int i = 0; i < count; ++i)
    mount_at(std::to_string(i));
  const pid_t child = start({"-R", "--jobs=2", "--json", top_});
  while (left() > static_cast<std::size_t>(count) - 100)
    usleep(1000);
  kill(child, SIGINT);
  EXPECT_EQ(end_of(child), 8);
  const std::string said = read_all(here_ + "/out");
  EXPECT_GT(occurrences(said, "\"result\": \"unmounted\""), 0U);
  EXPECT_GT(left(), 0U) << "not interrupted in the middle";
  EXPECT_EQ(occurrences(said, "\"result\": \"untried\""), left()) << read_all(here_ + "/err");
}

// A FUSE filesystem without a server: each request to it would wait forever.
TEST_F(UmountProgram, AFuseServerThatDoesNotAnswerIsNotAsked) {
  if (access("/dev/fuse", R_OK | W_OK) != 0) GTEST_SKIP() << "needs /dev/fuse";
  for (const bool as_target : {false, true}) {
    const std::string hung = top_ + "/hung";
    (void)mkdir(hung.c_str(), 0755);
    const int server = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    const std::string options = "fd=" + std::to_string(server) + ",rootmode=40000,user_id=0,group_id=0";
    if (mount("hung", hung.c_str(), "fuse", 0, options.c_str()) != 0) GTEST_SKIP() << "needs FUSE mounts";
    mount_at("a");
    mount_at("b");
    const auto begun = Clock::now();
    for (const std::vector<std::string>& arguments :
         as_target ? std::vector<std::vector<std::string>>{{"-Rl", top_}}
                   : std::vector<std::vector<std::string>>{{"-R", top_ + "/a"}, {"-v", top_ + "/b"}, {"-v", hung}}) {
      const pid_t child = start(arguments);
      int status = 0;
      while (waitpid(child, &status, WNOHANG) == 0) {
        if (Clock::now() - begun < std::chrono::seconds(5)) {
          usleep(2000);
          continue;
        }
        ADD_FAILURE() << "hangs: " << arguments.front();
        kill(child, SIGKILL);
        close(server);
        waitpid(child, &status, 0);
        break;
      }
      EXPECT_EQ(status, 0) << arguments.front() << ": " << read_all(here_ + "/err");
    }
    close(server);
    EXPECT_EQ(left(), as_target ? 0U : 1U);
  }
}

}  // namespace
}  // namespace unmoor::test
