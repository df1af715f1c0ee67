// SPDX-License-Identifier: MIT
// What stands in the table beside the mounts that are asked for: an automount point is not triggered, a server that
// does not answer is not asked.
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/syscall.h>

#include "kernel/umount/umount_tree.h"
#include "support/child.h"
#include "support/hung_fuse.h"

namespace unmoor::test {
namespace {

using Commands = std::vector<std::vector<std::string>>;

class UmountUntouched : public UmountTree {};

// debugfs keeps such a point, for tracefs; no daemon is needed for it.
TEST_F(UmountUntouched, AnAutomountPointOfTheKernelIsNotTriggered) {
  const std::string debug = path("debug");
  const std::string trap = debug + "/tracing";
  ASSERT_EQ(mkdir(debug.c_str(), 0755), 0);
  if (mount("debug", debug.c_str(), "debugfs", 0, nullptr) != 0) GTEST_SKIP() << "needs debugfs";
  const auto triggered = [&] { return occurrences(file_text("/proc/self/mountinfo"), " " + trap + " ") != 0; };
  Child control([&](const auto&) {
    if (unshare(CLONE_NEWNS) != 0) return 1;
    (void)open((trap + "/.").c_str(), O_RDONLY | O_CLOEXEC);
    return triggered() ? 0 : 1;
  });
  if (control.wait() != 0) GTEST_SKIP() << "needs a debugfs that mounts tracefs by itself";
  for (const char* const name : {"a", "b", "c", "d", "e"})
    mount_at(name);
  ASSERT_FALSE(triggered());
  for (const std::vector<std::string>& command : Commands{{"-R", path("a")},
                                                          {"-v", path("b")},
                                                          {"-l", path("c")},
                                                          {"-A", path("d")},
                                                          {"--all-or-nothing", "-R", path("e")}}) {
    EXPECT_EQ(umount(command).code, 0) << command.front();
    EXPECT_FALSE(triggered()) << command.front();
  }
  for (const std::vector<std::string>& command :
       Commands{{trap}, {"-l", trap}, {"-c", trap}, {"-R", trap}, {"-A", trap}}) {
    EXPECT_NE(umount(command).code, 0) << command.front() << ": there is nothing mounted there";
    EXPECT_FALSE(triggered()) << command.front();
  }
  const Ran all = umount({"-R", "-v", top_});
  EXPECT_EQ(all.code, 0) << all.err;
  EXPECT_EQ(all.err.find(trap), std::string::npos) << all.err;
  EXPECT_EQ(left(), 0U);
}

// An autofs mount whose daemon is the test: each request to mount something comes through a pipe.
TEST_F(UmountUntouched, AnAutofsDaemonIsNotAsked) {
  std::array<int, 2> requests{};
  ASSERT_EQ(pipe2(requests.data(), O_NONBLOCK), 0);
  Child daemon([](const auto& ready) {
    ready();
    return pause();
  });
  const std::string trap = path("trap");
  ASSERT_EQ(mkdir(trap.c_str(), 0755), 0);
  const std::string options =
      "fd=" + std::to_string(requests[1]) + ",pgrp=" + std::to_string(daemon.pid()) + ",minproto=5,maxproto=5,direct";
  if (mount("trap", trap.c_str(), "autofs", 0, options.c_str()) != 0) GTEST_SKIP() << "needs autofs";
  const auto asked = [&](int timeout) {
    pollfd waiting{.fd = requests[0], .events = POLLIN, .revents = 0};
    return poll(&waiting, 1, timeout) == 1;
  };
  for (const char* const name : {"a", "b", "c", "d"})
    mount_at(name);
  for (const std::vector<std::string>& command :
       Commands{{"-R", path("a")}, {"-v", path("b")}, {"-A", path("c")}, {"--all-or-nothing", "-R", path("d")}}) {
    EXPECT_EQ(umount(command).code, 0) << command.front();
    EXPECT_FALSE(asked(0)) << command.front();
  }
  {
    Child control([&](const auto& ready) {
      ready();
      return open((trap + "/.").c_str(), O_RDONLY | O_CLOEXEC);
    });
    EXPECT_TRUE(asked(5000)) << "the check itself does not see anything";
  }
  std::array<char, 4096> request{};
  while (read(requests[0], request.data(), request.size()) > 0) {
  }
  const Ran all = umount({"-R", "-v", top_});
  EXPECT_EQ(all.code, 0) << all.err;
  EXPECT_FALSE(asked(0));
  EXPECT_EQ(left(), 0U);
  close(requests[0]);
  close(requests[1]);
}

TEST_F(UmountUntouched, AServerThatHangsIsNotAskedWhateverElseIsUnmounted) {
  const std::string hung = path("hung");
  ASSERT_EQ(mkdir(hung.c_str(), 0755), 0);
  const HungFuse server(hung);
  if (!server.ready()) GTEST_SKIP() << "needs /dev/fuse";
  for (const char* const name : {"a", "b", "c", "d", "e", "f"})
    mount_at(name);
  ASSERT_EQ(mkdir(path("r").c_str(), 0755), 0);
  ASSERT_EQ(mount("r", path("r").c_str(), "ramfs", 0, nullptr), 0);
  for (const std::vector<std::string>& command : Commands{{"-R", path("a")},
                                                          {"-A", path("b")},
                                                          {"-AR", path("c")},
                                                          {"--all-or-nothing", "-R", path("d")},
                                                          {path("e"), path("f")},
                                                          {"-a", "-t", "ramfs"}}) {
    const Ran ran = run_program(words(command), std::chrono::seconds(10));
    EXPECT_EQ(ran.code, 0) << command.front() << ": " << ran.err;
  }
  EXPECT_EQ(left(), 2U) << "the top and the one that hangs";
}

}  // namespace
}  // namespace unmoor::test
