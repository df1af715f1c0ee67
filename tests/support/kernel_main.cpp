// SPDX-License-Identifier: MIT
// main() of every test program that mounts: the whole process runs in a mount namespace of its own (inside a user
// namespace when it is not root), on a scratch tmpfs that dies with it.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sched.h>
#include <string>
#include <sys/mount.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "support/here.h"
#include "support/mount_rights.h"

namespace unmoor::test {
namespace {

std::string refusal;

bool write_file(const char* path, const std::string& text) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool written = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  close(fd);
  return written;
}

std::string refused(const char* what) {
  return std::string(what) + ": " + std::strerror(errno);
}

std::string enter_private_namespace() {
  const uid_t uid = geteuid();
  const gid_t gid = getegid();
  if (unshare(CLONE_NEWNS) != 0) {
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return refused("unshare");
    if (!write_file("/proc/self/setgroups", "deny") ||
        !write_file("/proc/self/uid_map", "0 " + std::to_string(uid) + " 1") ||
        !write_file("/proc/self/gid_map", "0 " + std::to_string(gid) + " 1")) {
      return refused("uid_map");
    }
  }
  if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return refused("mount --make-rprivate /");
  std::string scratch = "/tmp/unmoor-test-XXXXXX";
  if (mkdtemp(scratch.data()) == nullptr) return refused("mkdtemp");
  const bool mounted = mount("scratch", scratch.c_str(), "tmpfs", 0, "mode=755") == 0;
  std::string answer = mounted ? std::string() : refused("mount tmpfs");
  if (!mounted) rmdir(scratch.c_str());
  if (mounted && chdir(scratch.c_str()) != 0) return refused("chdir");
  return answer;
}

}  // namespace

const std::string& mount_refusal() {
  return refusal;
}

}  // namespace unmoor::test

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (testing::GTEST_FLAG(list_tests)) return RUN_ALL_TESTS();
  // By the mount that others see: a test may have made its own read-only.
  const int outside = open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC);
  unmoor::test::refusal = unmoor::test::enter_private_namespace();
  const std::string scratch = unmoor::test::here();
  const int result = RUN_ALL_TESTS();
  // The tmpfs dies with the namespace; the directory it covered is ours to remove. A test may have unmounted it, or
  // mounted something over it.
  if (unmoor::test::refusal.empty() && chdir("/") == 0) {
    while (umount2(scratch.c_str(), MNT_DETACH) == 0) {
    }
    unlinkat(outside, scratch.c_str() + scratch.rfind('/') + 1, AT_REMOVEDIR);
  }
  return result;
}
