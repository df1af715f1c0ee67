// SPDX-License-Identifier: MIT
// `unmoor doctor` against planted faults, each in the test's own mount namespace.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "kernel/doctor/hung_server.h"
#include "kernel/mount_table.h"
#include "kernel/unique_fd.h"
#include "support/for_everybody.h"
#include "support/mount_rights.h"
#include "support/program.h"
#include "support/user_namespace.h"

namespace unmoor {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

struct Answer {
  int exit_code = -1;
  nlohmann::json json;
};

// `prefix` is a command that runs another.
Answer doctor(const std::string& prefix = "", const std::string& program = UNMOOR_PROGRAM) {
  std::FILE* const pipe = popen((prefix + program + " doctor --json").c_str(), "r");
  std::string text;
  std::array<char, 4096> buffer;
  while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), pipe))
    text.append(buffer.data(), got);
  const int status = pclose(pipe);
  return {WEXITSTATUS(status), nlohmann::json::parse(text)};
}

std::vector<std::string> ids(const Answer& answer) {
  std::vector<std::string> found;
  for (const auto& finding : answer.json["findings"])
    found.push_back(finding["id"]);
  return found;
}

std::string what(const Answer& answer, const std::string& id) {
  for (const auto& finding : answer.json["findings"]) {
    if (finding["id"] == id) return finding["what"];
  }
  return "not found";
}

// The machine's rcu_normal, changed under the lock that everybody takes who changes it, and put back.
class RcuNormal {
 public:
  explicit RcuNormal(char value) : fd_(open("/sys/kernel/rcu_normal", O_RDWR | O_CLOEXEC)) {
    if (!fd_ || flock(fd_.get(), LOCK_EX) != 0 || pread(fd_.get(), &before_, 1, 0) != 1) return;
    changed_ = pwrite(fd_.get(), &value, 1, 0) == 1;
  }
  ~RcuNormal() {
    if (changed_ && pwrite(fd_.get(), &before_, 1, 0) != 1) std::abort();
  }
  RcuNormal(const RcuNormal&) = delete;
  RcuNormal& operator=(const RcuNormal&) = delete;
  [[nodiscard]] bool changed() const { return changed_; }

 private:
  kernel::UniqueFd fd_;
  char before_ = '0';
  bool changed_ = false;
};

std::size_t mounts() {
  const auto table = kernel::MountTable::read(kernel::SystemCalls::real());
  return table ? table->entries().size() : 0;
}

class Doctor : public testing::Test {
 protected:
  void SetUp() override { UNMOOR_NEEDS_MOUNTS(); }
};

TEST_F(Doctor, IsSilentOnAHealthyMachine) {
  const RcuNormal expedited('0');
  if (!expedited.changed()) GTEST_SKIP() << "needs to write /sys/kernel/rcu_normal";
  const std::size_t before = mounts();
  const Answer answer = doctor();
  EXPECT_THAT(ids(answer), testing::IsEmpty()) << answer.json.dump(1);
  EXPECT_EQ(answer.exit_code, 0);
  EXPECT_LT(answer.json["cost"]["fastest_umount_lazy_us"], 2000);
  EXPECT_EQ(mounts(), before);
}

TEST_F(Doctor, FindsRcuNormal) {
  const RcuNormal normal('1');
  if (!normal.changed()) GTEST_SKIP() << "needs to write /sys/kernel/rcu_normal";
  const Answer answer = doctor();
  EXPECT_EQ(answer.exit_code, 1);
  EXPECT_THAT(ids(answer), Contains("slow-grace-period"));
  EXPECT_GT(answer.json["cost"]["umount_lazy_us"], 2000);
  EXPECT_EQ(answer.json["rcu"]["grace_periods"], "normal");
}

TEST_F(Doctor, FindsThreeThousandMounts) {
  for (int i = 0; i < 3000; ++i) {
    const std::string name = "m" + std::to_string(i);
    ASSERT_TRUE(std::filesystem::create_directory(name));
    ASSERT_EQ(mount("t", name.c_str(), "tmpfs", 0, nullptr), 0);
  }
  const Answer answer = doctor();
  EXPECT_EQ(answer.exit_code, 1);
  EXPECT_THAT(what(answer, "many-mounts"), HasSubstr(std::to_string(mounts()) + " mounts"));
}

TEST_F(Doctor, FindsASharedCopyOfTheRootAndCountsWhatItTakesAlong) {
  if (!test::initial_user_namespace())
    GTEST_SKIP() << "needs root: in a user namespace the mounts of / are locked and stay";
  ASSERT_TRUE(std::filesystem::create_directory("copy"));
  ASSERT_EQ(mount("none", "/", nullptr, MS_REC | MS_SHARED, nullptr), 0);
  ASSERT_EQ(mount("/", "copy", nullptr, MS_BIND | MS_REC, nullptr), 0);
  const Answer answer = doctor();
  EXPECT_EQ(answer.exit_code, 1);
  // The proof: let it happen. Open what is looked at, since /proc goes too.
  const kernel::UniqueFd table(open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC));
  const auto count = [&] {
    lseek(table.get(), 0, SEEK_SET);
    const auto read = kernel::MountTable::read(kernel::SystemCalls::real(), table.get());
    return read ? read->entries().size() : 0;
  };
  const std::size_t before = count();
  std::size_t inside = 0;
  const auto entries = kernel::MountTable::read(kernel::SystemCalls::real(), "/proc/self/mountinfo");
  ASSERT_TRUE(entries);
  const std::string copy = std::filesystem::current_path().string() + "/copy";
  for (const auto& entry : entries->entries())
    inside += entry.mount_point == copy || entry.mount_point.starts_with(copy + "/") ? 1 : 0;
  ASSERT_EQ(umount2("copy", MNT_DETACH), 0);
  const std::size_t lost = before - count() - inside;
  EXPECT_GT(lost, 0U);
  EXPECT_THAT(what(answer, "shared-copy-of-root"), HasSubstr("takes " + std::to_string(lost) + " mount"));
}

TEST_F(Doctor, FindsDirtyDataBehindAnOverlay) {
  if (!test::initial_user_namespace()) GTEST_SKIP() << "needs root: a loop device";
  constexpr long kEnough = 3L << 30;  // with less, the kernel writes 300 MB out while they are written
  if (sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE) < kEnough) GTEST_SKIP() << "needs 3 GB of memory";
  ASSERT_TRUE(std::filesystem::create_directory("disk"));
  ASSERT_TRUE(std::filesystem::create_directory("merged"));
  if (std::system("truncate -s 1G image && mkfs.ext4 -q image && mount -o loop image disk") != 0)
    GTEST_SKIP() << "needs ext4 on a loop device";
  for (const char* const directory : {"disk/upper", "disk/work", "disk/lower"})
    ASSERT_TRUE(std::filesystem::create_directory(directory));
  const std::string here = std::filesystem::current_path().string();
  const std::string options = "lowerdir=disk/lower,upperdir=" + here + "/disk/upper,workdir=disk/work";
  const bool overlay = mount("o", "merged", "overlay", 0, options.c_str()) == 0;
  if (overlay) {
    std::ofstream("disk/big") << std::string(300 << 20, 'x');
    const Answer answer = doctor();
    EXPECT_EQ(answer.exit_code, 1);
    EXPECT_THAT(what(answer, "dirty-behind-overlay"), HasSubstr(here + "/merged"));
    EXPECT_EQ(umount2("merged", 0), 0);
  }
  EXPECT_EQ(umount2("disk", 0), 0);
  if (!overlay) GTEST_SKIP() << "needs overlayfs";
}

TEST_F(Doctor, FindsAHungFuseServerWithoutTouchingItsMount) {
  if (!test::initial_user_namespace()) GTEST_SKIP() << "needs root: fusectl";
  ASSERT_TRUE(std::filesystem::create_directory("hung"));
  test::HungServer server(std::filesystem::current_path().string() + "/hung");
  if (!server.refusal().empty()) GTEST_SKIP() << "needs FUSE: " << server.refusal();
  EXPECT_THAT(ids(doctor()), Not(Contains("hung-fuse")));  // idle: nobody waits
  server.let_somebody_wait();
  const Answer answer = doctor();
  EXPECT_EQ(answer.exit_code, 1);
  EXPECT_THAT(what(answer, "hung-fuse"), HasSubstr("1 request waited"));  // had the doctor touched it: 2
}

TEST_F(Doctor, SetsFindingsInBoldOnATerminalUnlessAskedNotTo) {
  const auto on_a_terminal = [](const std::string& environment) {
    const kernel::UniqueFd ours(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
    if (!ours || grantpt(ours.get()) != 0 || unlockpt(ours.get()) != 0) return std::string("no terminal");
    const std::string theirs = ptsname(ours.get());
    const int status = std::system((environment + UNMOOR_PROGRAM " doctor >" + theirs).c_str());
    std::array<char, 1 << 16> text;
    const ssize_t got = WEXITSTATUS(status) == 1 ? read(ours.get(), text.data(), text.size()) : 0;
    return std::string(text.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  };
  // Something to be found.
  for (int i = 0; i < 1000; ++i)
    ASSERT_EQ(mount("t", ".", "tmpfs", 0, nullptr), 0);
  EXPECT_THAT(on_a_terminal("env -u NO_COLOR "), HasSubstr("\x1b[1mmany-mounts: "));
  const std::string plain = on_a_terminal("NO_COLOR=1 ");
  EXPECT_THAT(plain, HasSubstr("\nmany-mounts: "));
  EXPECT_THAT(plain, Not(HasSubstr("\x1b")));
}

// What the doctor could leave changed: the mounts of its caller with their ids and options, the RCU knobs, the files
// where it was called and where it mounts its own.
std::string state() {
  std::string text = test::file_text("/proc/self/mountinfo");
  for (const char* const knob : {"/sys/kernel/rcu_normal", "/sys/kernel/rcu_expedited"})
    text += knob + (" " + test::file_text(knob));
  for (const auto& entry : std::filesystem::directory_iterator("."))
    text += entry.path().string() + "\n";
  std::error_code none;
  for (const char* const own : {"/tmp/target", "/tmp/fusectl", "/tmp/debugfs"})
    text += std::filesystem::exists(own, none) ? own : "";
  return text;
}

TEST_F(Doctor, ChangesNothing) {
  const kernel::UniqueFd knob(open("/sys/kernel/rcu_normal", O_RDONLY | O_CLOEXEC));
  if (knob) flock(knob.get(), LOCK_SH);  // nobody else changes it meanwhile
  // All that it looks at: an overlay (debugfs), a FUSE mount (fusectl), a shared mount.
  for (const char* const directory : {"lower", "upper", "work", "merged", "hung", "shared"})
    ASSERT_TRUE(std::filesystem::create_directory(directory));
  const std::string here = std::filesystem::current_path().string();
  const std::string options = "lowerdir=lower,upperdir=" + here + "/upper,workdir=work";
  (void)mount("o", "merged", "overlay", 0, options.c_str());
  test::HungServer server(here + "/hung");
  ASSERT_EQ(mount("s", "shared", "tmpfs", 0, nullptr), 0);
  ASSERT_EQ(mount("none", "shared", nullptr, MS_SHARED, nullptr), 0);
  const std::string before = state();
  ASSERT_NE(before, "");
  const Answer answer = doctor();
  EXPECT_TRUE(answer.json["cost"].contains("umount_us")) << answer.json.dump(1);
  EXPECT_EQ(state(), before);
}

TEST_F(Doctor, WritesToNoFilesystemThatIsThere) {
  if (!test::initial_user_namespace()) GTEST_SKIP() << "needs root: a user namespace's maps are files in /proc";
  // With every mount read-only, /proc and /sys too, whoever writes anything fails.
  mount_attr attributes{.attr_set = MOUNT_ATTR_RDONLY, .attr_clr = 0, .propagation = 0, .userns_fd = 0};
  if (mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &attributes, sizeof attributes) != 0)
    GTEST_SKIP() << "needs mount_setattr: " << std::strerror(errno);
  ASSERT_NE(std::system("echo 0 >/sys/kernel/rcu_normal"), 0);
  const Answer answer = doctor();
  EXPECT_TRUE(answer.json["cost"].contains("umount_us")) << answer.json.dump(1);
}

TEST_F(Doctor, MeasuresForAnOrdinaryUserAndSaysWhatHeMayNotSee) {
  if (!test::initial_user_namespace()) GTEST_SKIP() << "needs root: to become somebody else";
  const std::string somebody = "setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all ";
  if (std::system((somebody + "unshare -Ur true").c_str()) != 0)
    GTEST_SKIP() << "needs user namespaces for ordinary users";
  const std::string program = test::for_everybody(UNMOOR_PROGRAM);
  ASSERT_TRUE(std::filesystem::create_directory("hung"));
  test::HungServer server(std::filesystem::current_path().string() + "/hung");
  if (!server.refusal().empty()) GTEST_SKIP() << "needs FUSE: " << server.refusal();
  const Answer answer = doctor(somebody, program);
  EXPECT_EQ(answer.exit_code, answer.json["healthy"] ? 0 : 1);
  EXPECT_TRUE(answer.json["cost"].contains("umount_lazy_us")) << answer.json.dump(1);
  EXPECT_EQ(answer.json["mounts"]["count"], mounts());
  EXPECT_EQ(answer.json["fuse"]["unreadable"], 1);  // root mounted it
  const test::Ran text = test::run_program({"/bin/sh", "-c", somebody + program + " doctor"});
  EXPECT_THAT(text.out, HasSubstr("1 of 1 connections not looked at: no right to"));
}

TEST_F(Doctor, RefusesWhatItDoesNotKnow) {
  for (const char* const wrong : {"--fix", "/mnt"}) {
    const test::Ran ran = test::run_program({UNMOOR_PROGRAM, "doctor", wrong});
    EXPECT_EQ(ran.code, 2) << wrong;
    EXPECT_EQ(ran.out, "");
    EXPECT_THAT(ran.err, HasSubstr(wrong));
  }
}

TEST_F(Doctor, SaysSoWhereMountingIsForbidden) {
  // No capability, no further namespace: what a container without privileges looks like.
  const Answer answer = doctor(
      "unshare -U --map-root-user sh -c 'echo 0 >/proc/sys/user/max_user_namespaces;"
      " exec setpriv --bounding-set -all --inh-caps -all --no-new-privs \"$@\"' sh ");
  EXPECT_EQ(answer.json["cost"]["refused"], "unshare: No space left on device");
  EXPECT_THAT(ids(answer), Not(Contains("many-mounts")));
}

}  // namespace
}  // namespace unmoor
