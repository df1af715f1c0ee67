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

#include "kernel/umount/umount_tree.h"
#include "support/child.h"
#include "support/long_count.h"
#include "support/sanitizer.h"
#include "support/user_namespace.h"

namespace unmoor::test {
namespace {

using Clock = std::chrono::steady_clock;

class UmountProgram : public UmountTree {
 protected:
  // Starts `unmoor umount ARGUMENTS`, its output and complaints in files.
  [[nodiscard]] pid_t start(std::vector<std::string> arguments, const char* variable = nullptr) const {
    const pid_t child = fork();
    if (child != 0) return child;
    const int out = open((here_ + "/out").c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
    const int err = open((here_ + "/err").c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    if (variable != nullptr) setenv("LD_DEBUG", variable, 1);
    std::vector<std::string> all = words(std::move(arguments));
    exec_words(all);
  }
};

TEST_F(UmountProgram, TheFastCaseLoadsNoLibmountAndNothingElse) {
  UNMOOR_NEEDS_NO_SANITIZER("it loads libstdc++");
  if (geteuid() != 0) GTEST_SKIP() << "needs root: an ordinary user's unmounts are libmount's";
  for (const char* const option : {"-v", "-l", "-R"}) {
    mount_at("a");
    EXPECT_EQ(exit_code_of(start({option, top_ + "/a"}, "files")), 0) << option;
    const std::string loaded = file_text(here_ + "/err");
    EXPECT_EQ(loaded.find("libmount"), std::string::npos) << option;
    EXPECT_EQ(loaded.find("libstdc++"), std::string::npos) << option;
  }
  EXPECT_NE(exit_code_of(start({"LABEL=nothere"}, "files")), 0);
  EXPECT_NE(file_text(here_ + "/err").find("libmount"), std::string::npos) << "a tag is libmount's business";
}

TEST_F(UmountProgram, WithoutItsCompanionItDoesWhatSystemCallsCan) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root: an ordinary user's unmounts are libmount's";
  const std::string alone = here_ + "/alone";
  std::ofstream(alone, std::ios::binary) << file_text(UNMOOR_PROGRAM);
  ASSERT_EQ(chmod(alone.c_str(), 0700), 0);
  mount_at("a");
  mount_at("b");
  mount_at("b/c");
  const Ran two = run_program({alone, "umount", "-v", top_ + "/a", top_ + "/b/c"});
  EXPECT_EQ(two.code, 0) << two.err;
  const Ran elsewhere = run_program({alone, "umount", "-N", "1", top_ + "/b"});
  EXPECT_EQ(elsewhere.code, 2);
  EXPECT_NE(elsewhere.err.find("unmoor-umount"), std::string::npos) << elsewhere.err;
  EXPECT_EQ(left(), 2U);
}

// Installed like umount(8), with its setuid bit, it must not unmount for anybody what fstab does not let him.
TEST_F(UmountProgram, SetuidItIsStillTheCallers) {
  if (!initial_user_namespace()) GTEST_SKIP() << "needs root: to become somebody else";
  const std::string place = here_ + "/setuid";
  ASSERT_EQ(chmod(here_.c_str(), 0755), 0);
  ASSERT_EQ(mkdir(place.c_str(), 0755), 0);
  ASSERT_EQ(mount("setuid", place.c_str(), "tmpfs", 0, "mode=755"), 0);  // where the test runs may be nosuid
  const auto install = [&](const char* from, const std::string& name) {
    std::ofstream(place + name, std::ios::binary) << file_text(from);
    return chmod((place + name).c_str(), 04755) == 0;
  };
  ASSERT_TRUE(install(UNMOOR_PROGRAM, "/unmoor") && install(UNMOOR_PROGRAM, "/umount"));
  ASSERT_TRUE(install(UNMOOR_UMOUNT, "/unmoor-umount"));
  mount_at("a");
  const std::string a = top_ + "/a";
  const std::size_t before = left();
  const std::vector<std::vector<std::string>> commands = {
      {place + "/umount", a},       {place + "/umount", "-f", a},           {place + "/umount", "-l", a},
      {place + "/umount", "-R", a}, {place + "/unmoor", "umount", "-l", a}, {place + "/unmoor-umount", "umount", a}};
  for (const std::vector<std::string>& command : commands) {
    Child user([&](const auto&) {
      if (setresgid(65534, 65534, 65534) != 0 || setresuid(65534, 65534, 65534) != 0) return 77;
      return run_program(command).code;
    });
    EXPECT_EQ(WEXITSTATUS(user.wait()), 32) << command[0] << " " << command[1];
    EXPECT_EQ(left(), before) << command[0] << " " << command[1];
  }
  umount2(place.c_str(), MNT_DETACH);
}

TEST_F(UmountProgram, InterruptedInTheMiddleItStillSaysWhatWentAndWhatStays) {
  const int count = long_count(20000, 10);
  for (int i = 0; i < count; ++i)
    mount_at(std::to_string(i));
  const pid_t child = start({"-R", "--jobs=2", "--json", top_});
  while (left() > static_cast<std::size_t>(count) - 100)
    usleep(1000);
  kill(child, SIGINT);
  EXPECT_EQ(exit_code_of(child), 8);
  const std::string said = file_text(here_ + "/out");
  EXPECT_GT(occurrences(said, "\"result\": \"unmounted\""), 0U);
  EXPECT_GT(left(), 0U) << "not interrupted in the middle";
  EXPECT_EQ(occurrences(said, "\"result\": \"untried\""), left()) << file_text(here_ + "/err");
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
      EXPECT_EQ(status, 0) << arguments.front() << ": " << file_text(here_ + "/err");
    }
    close(server);
    EXPECT_EQ(left(), as_target ? 0U : 1U);
  }
}

}  // namespace
}  // namespace unmoor::test
