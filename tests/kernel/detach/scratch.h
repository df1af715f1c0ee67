// SPDX-License-Identifier: MIT
// What the detach tests share: a directory of its own for each test, mounts by one name, and the answers of a process.
#pragma once

#include <cerrno>
#include <fcntl.h>
#include <functional>
#include <sched.h>
#include <string>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "detach/detach.h"
#include "support/mount_rights.h"

namespace unmoor::test {

// Each test works in a fresh tmpfs of its own, which is gone with what is left on it when the test ends.
class DetachTest : public testing::Test {
 protected:
  void SetUp() override {
    UNMOOR_NEEDS_MOUNTS();
    start_ = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    ASSERT_EQ(mkdir("test", 0755) == 0 || errno == EEXIST, true);
    ASSERT_EQ(mount("test", "test", "tmpfs", 0, "mode=755"), 0);
    ASSERT_EQ(chdir("test"), 0);
  }
  void TearDown() override {
    if (start_ < 0) return;
    detach::reap_helpers();
    EXPECT_EQ(fchdir(start_), 0);
    EXPECT_EQ(umount2("test", MNT_DETACH), 0);
    close(start_);
  }

 private:
  int start_ = -1;
};

inline void mount_tmpfs(const std::string& path) {
  ASSERT_TRUE(mkdir(path.c_str(), 0755) == 0 || errno == EEXIST) << path;
  ASSERT_EQ(mount("t", path.c_str(), "tmpfs", 0, "size=64k"), 0) << path;
}

inline Result<detach::Outcome> detach_always(const char* path, int flags = MNT_DETACH,
                                             detach::Caller caller = detach::Caller::kLibrary) {
  return detach::detach_one(kernel::SystemCalls::real(), path, flags,
                            {.defer = detach::Defer::kAlways, .caller = caller});
}

// The errno of a call: 0 when it succeeded.
inline int error_of(const Result<detach::Outcome>& outcome) {
  return outcome ? 0 : outcome.error().code;
}

// Runs `body` in a child and returns its exit code, or 128 + the signal that ended it.
inline int in_child(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// st_dev tells a mount from the directory below it in these tests: each tmpfs has its own.
inline dev_t device_at(const char* path) {
  struct stat facts{};
  return stat(path, &facts) == 0 ? facts.st_dev : 0;
}

}  // namespace unmoor::test
