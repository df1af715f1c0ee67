// SPDX-License-Identifier: MIT
// The program's helper outlives it: what a shell does right after `unmoor umount -l` must not meet it.
#include <chrono>
#include <fstream>

#include "kernel/detach/device_under_grace.h"
#include "support/program.h"

namespace unmoor::test {
namespace {

class DetachProgramForm : public UnderGracePeriods {
 protected:
  static Ran let_go_by(const std::string& program) {
    mount_tmpfs("m");
    return run_program({program, "umount", "-l", "--defer=always", "m"});
  }
};

TEST_P(DetachProgramForm, ItsOwnBinaryCanBeWrittenRightAfter) {
  std::ofstream("copy", std::ios::binary) << file_text(UNMOOR_PROGRAM);
  ASSERT_EQ(chmod("copy", 0700), 0);
  for (int round = 0; round < detach_rounds(); ++round) {
    ASSERT_EQ(let_go_by("./copy").code, 0);
    const int fd = open("copy", O_WRONLY | O_CLOEXEC);
    EXPECT_GE(fd, 0) << "round " << round << " errno " << errno;
    if (fd >= 0) close(fd);
  }
}

TEST_P(DetachProgramForm, ACommandSubstitutionEndsWithTheProgram) {
  for (int round = 0; round < detach_rounds(); ++round) {
    mount_tmpfs("m");
    int out[2];
    ASSERT_EQ(pipe2(out, O_CLOEXEC), 0);
    const pid_t child = fork();
    if (child == 0) {
      dup2(out[1], STDOUT_FILENO);
      execl(UNMOOR_PROGRAM, "unmoor", "umount", "-l", "--defer=always", "m", nullptr);
      _exit(99);
    }
    close(out[1]);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    pollfd end{out[0], POLLIN, 0};
    EXPECT_EQ(poll(&end, 1, 0), 1) << "somebody still has the writing end, round " << round;
    close(out[0]);
  }
}

INSTANTIATE_TEST_SUITE_P(GracePeriods, DetachProgramForm, testing::Values(0, 1),
                         [](const auto& normal) { return normal.param == 1 ? "Normal" : "Expedited"; });

}  // namespace
}  // namespace unmoor::test
