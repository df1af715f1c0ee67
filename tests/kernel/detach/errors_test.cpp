// SPDX-License-Identifier: MIT
// Every error is the one that umount2(2) gives, for each combination of flags, as root and in a user namespace.
#include <array>
#include <cstring>
#include <vector>

#include "kernel/detach/scratch.h"

namespace unmoor::test {
namespace {

using detach::Caller;

constexpr std::array<int, 5> kFlags = {MNT_DETACH, MNT_FORCE, MNT_EXPIRE, UMOUNT_NOFOLLOW, 0x4000};

struct Case {
  const char* name;
  std::string path;
};

// Makes everything anew before each call, so that both calls meet the same.
void prepare() {
  umount2("m", MNT_DETACH);
  umount2("link-target", MNT_DETACH);
  mkdir("directory", 0755);
  close(open("file", O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
  static_cast<void>(symlink("loop", "loop"));
  static_cast<void>(symlink("link-target", "link"));
  mount_tmpfs("m");
  mount_tmpfs("link-target");
}

void compare_all() {
  const std::vector<Case> cases = {{"a mount", "m"},
                                   {"a directory", "directory"},
                                   {"a file", "file"},
                                   {"below a file", "file/x"},
                                   {"nothing", "missing"},
                                   {"an empty path", ""},
                                   {"a loop of links", "loop"},
                                   {"a link to a mount", "link"},
                                   {"a link with a slash", "link/"},
                                   {"a name too long", std::string(300, 'x')},
                                   {"a path too long", std::string(5000, 'x')},
                                   {"through dots", "directory/../m/."}};
  for (unsigned bits = 0; bits < 1U << kFlags.size(); ++bits) {
    int flags = 0;
    for (std::size_t i = 0; i < kFlags.size(); ++i) {
      if ((bits >> i & 1) != 0) flags |= kFlags[i];
    }
    for (const Case& one : cases) {
      prepare();
      const int direct = umount2(one.path.c_str(), flags) == 0 ? 0 : errno;
      const dev_t after_direct = device_at("m");
      const bool gone = after_direct == device_at(".");
      for (const Caller caller : {Caller::kLibrary, Caller::kProgram}) {
        prepare();
        EXPECT_EQ(error_of(detach_always(one.path.c_str(), flags, caller)), direct) << one.name << " flags " << flags;
        EXPECT_EQ(device_at("m") == device_at("."), gone) << one.name << " flags " << flags;
      }
    }
  }
}

TEST_F(DetachTest, ErrorsAreThoseOfUmount2) {
  compare_all();
}

TEST_F(DetachTest, ErrorsAreThoseOfUmount2InAUserNamespace) {
  const int code = in_child([] {
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return 77;
    const auto write_to = [](const char* path, const char* text) {
      const int fd = open(path, O_WRONLY | O_CLOEXEC);
      const bool written = fd >= 0 && write(fd, text, strlen(text)) > 0;
      close(fd);
      return written;
    };
    if (!write_to("/proc/self/setgroups", "deny") || !write_to("/proc/self/uid_map", "0 0 1") ||
        !write_to("/proc/self/gid_map", "0 0 1")) {
      return 77;
    }
    mkdir("inside", 0755);
    if (mount("t", "inside", "tmpfs", 0, nullptr) != 0 || chdir("inside") != 0) return 77;
    compare_all();
    // Mounts that came with the namespace are locked.
    EXPECT_EQ(error_of(detach_always("/proc")), EINVAL);
    EXPECT_EQ(umount2("/proc", MNT_DETACH), -1);
    detach::reap_helpers();
    return testing::Test::HasFailure() ? 1 : 0;
  });
  if (code == 77) GTEST_SKIP() << "needs a user namespace: refused";
  EXPECT_EQ(code, 0);
}

TEST_F(DetachTest, WithoutTheCapabilityItIsRefusedAndExecGivesNothingBack) {
  mount_tmpfs("m");
  if (geteuid() != 0) GTEST_SKIP() << "needs root: to drop it";
  const int code = in_child([] {
    // Root without capabilities: an exec would give them all back.
    struct {
      unsigned version;
      int pid;
    } header{0x20080522, 0};
    unsigned none[6] = {};
    if (syscall(SYS_capset, &header, none) != 0) return 77;
    for (const Caller caller : {Caller::kLibrary, Caller::kProgram}) {
      if (error_of(detach_always("m", MNT_DETACH, caller)) != EPERM) return 1;
    }
    return 0;
  });
  EXPECT_EQ(code, 0);
  EXPECT_NE(device_at("m"), device_at("."));
}

}  // namespace
}  // namespace unmoor::test
