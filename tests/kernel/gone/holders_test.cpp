// SPDX-License-Identifier: MIT
// Each kind of holder, planted alone on an ext4, found by one question.
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <sched.h>
#include <string>
#include <sys/mount.h>
#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gone/inquiry.h"
#include "support/child.h"
#include "support/here.h"
#include "support/kernel_version.h"
#include "support/loop_device.h"
#include "support/mount_rights.h"
#include "support/planted.h"

namespace unmoor::gone {
namespace {

std::string here(const std::string& name) {
  return test::here() + "/" + name;
}

Answer ask(const std::string& name, AskFor what = AskFor::kWhatItNames) {
  Result<Census> census = Census::take(kernel::SystemCalls::real());
  EXPECT_TRUE(census);
  auto shared = std::make_shared<Census>(std::move(*census));
  Result<Target> target = resolve_target(*shared, name, what);
  EXPECT_TRUE(target) << name;
  if (!target) return {};
  Result<Inquiry> inquiry = inquire(shared, {std::move(*target)});
  EXPECT_TRUE(inquiry);
  return std::move(inquiry->answers.front());
}

struct Kind {
  const char* planted;
  HolderKind found;
  Prevents prevents;
  Certainty certainty = Certainty::kCertain;
  bool in_thread = false;
  const char* path = "";  // how the holder's path ends
};

void PrintTo(const Kind& kind, std::ostream* out) {
  *out << kind.planted;
}

std::string name_of_kind(const testing::TestParamInfo<Kind>& info) {
  std::string name = info.param.planted;
  std::ranges::replace(name, '-', '_');
  return name;
}

class EachKind : public testing::TestWithParam<Kind> {
 protected:
  // An ext4 on a loop device where that is allowed, else a tmpfs: all kinds but swap work on either.
  void SetUp() override {
    UNMOOR_NEEDS_MOUNTS();
    mkdir("X", 0755);
    // A file of its own each time: the filesystem of the test before may still be shutting down on its own.
    static int images = 0;
    loop_ = std::make_unique<test::LoopDevice>("image" + std::to_string(++images));
    on_device_ = loop_->ready() && loop_->make_ext4() && mount(loop_->node().c_str(), "X", "ext4", 0, nullptr) == 0;
    if (!on_device_) {
      ASSERT_EQ(mount("x", "X", "tmpfs", 0, nullptr), 0) << std::strerror(errno);
    }
    std::ofstream("X/file") << "text";
  }
  void TearDown() override {
    planted_.reset();
    umount2("X", MNT_DETACH);
  }

  // Without the candidates that other programs of the machine are for any filesystem.
  [[nodiscard]] std::vector<Holder> holders_of(const std::string& name) const {
    std::vector<Holder> holders = ask(name).holders;
    std::erase_if(holders, [&](const Holder& holder) {
      return holder.kind == HolderKind::kInFlight && (!planted_ || holder.pid != planted_->pid());
    });
    return holders;
  }

  std::unique_ptr<test::LoopDevice> loop_;
  std::unique_ptr<test::Planted> planted_;
  bool on_device_ = false;
};

TEST_P(EachKind, IsFoundAndNothingElse) {
  ASSERT_THAT(holders_of(here("X")), testing::IsEmpty());
  planted_ = std::make_unique<test::Planted>(GetParam().planted, here("X"));
  if (!planted_->ready()) GTEST_SKIP() << "needs a kernel and rights for " << GetParam().planted;
  const std::vector<Holder> holders = holders_of(here("X"));
  ASSERT_FALSE(holders.empty());
  for (const Holder& holder : holders) {
    EXPECT_EQ(holder.kind, GetParam().found) << holder.path;
    EXPECT_EQ(holder.prevents, GetParam().prevents);
    EXPECT_EQ(holder.tid != 0, GetParam().in_thread);
    if (GetParam().found == HolderKind::kRingFile && !test::kernel_at_least(6, 18)) {
      EXPECT_EQ(holder.certainty, Certainty::kCandidate);
      EXPECT_EQ(holder.path, "file") << "the ring's fdinfo has no paths, only names";
      continue;
    }
    EXPECT_EQ(holder.certainty, GetParam().certainty);
    EXPECT_TRUE(holder.path.ends_with(GetParam().path)) << holder.path;
    if (holder.pid != 0) {
      EXPECT_EQ(holder.pid, planted_->pid());
    }
  }
  // The kernel agrees about what it prevents.
  if (GetParam().prevents == Prevents::kUnmount) {
    EXPECT_EQ(umount2("X", 0), -1);
    EXPECT_EQ(errno, EBUSY);
  }
  planted_->let_go();
  // A ring is taken apart by the kernel some time after its process has ended.
  int unmounted = umount2("X", 0);
  for (int i = 0; i < 200 && unmounted != 0 && GetParam().found == HolderKind::kRingFile; ++i) {
    usleep(10000);
    unmounted = umount2("X", 0);
  }
  ASSERT_EQ(unmounted, 0) << std::strerror(errno);
}

// The same kinds after the mount is gone from our namespace: only the device can still be asked about.
TEST_P(EachKind, IsFoundByDeviceAfterTheDetach) {
  if (!on_device_) GTEST_SKIP() << "needs a loop device with ext4";
  planted_ = std::make_unique<test::Planted>(GetParam().planted, here("X"));
  if (!planted_->ready()) GTEST_SKIP() << "needs a kernel and rights for " << GetParam().planted;
  if (GetParam().found == HolderKind::kNestedMount) GTEST_SKIP() << "a lazy unmount takes nested mounts along";
  if (GetParam().found == HolderKind::kSwap) GTEST_SKIP() << "nobody could swap it off again";
  ASSERT_EQ(umount2("X", MNT_DETACH), 0);
  const std::vector<Holder> holders = holders_of(loop_->node());
  ASSERT_FALSE(holders.empty());
  const bool found = std::ranges::any_of(holders, [](const Holder& holder) { return holder.kind == GetParam().found; });
  EXPECT_TRUE(found) << name_of(holders.front().kind) << " " << holders.front().path;
}

// Linux 6.18 numbers namespaces by a stock of each processor's, and refuses to mount one in another with a larger
// number.
TEST(PlantedNamespace, IsKeptByAMountWhicheverProcessorNumberedOurs) {
  UNMOOR_NEEDS_MOUNTS();
  const auto run_on = [](long processor) {
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(static_cast<std::size_t>(processor), &only);
    (void)sched_setaffinity(0, sizeof only, &only);
  };
  mkdir("X", 0755);
  const long processors = sysconf(_SC_NPROCESSORS_CONF);
  for (long ours = 0; ours < std::min(processors, 4L); ++ours) {
    test::Child child([&](const std::function<void()>&) {
      run_on(ours);
      if (unshare(CLONE_NEWNS) != 0 || mount("x", "X", "tmpfs", 0, nullptr) != 0) return 77;
      run_on((ours + 1) % processors);
      return test::Planted("namespace-mount", here("X")).ready() ? 0 : 1;
    });
    const int status = child.wait();
    if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "needs a mount namespace in ours";
    EXPECT_EQ(status, 0) << "numbered by processor " << ours;
  }
}

constexpr Prevents kUnmount = Prevents::kUnmount;
constexpr Prevents kShutdown = Prevents::kShutdown;
constexpr Certainty kCertain = Certainty::kCertain;

INSTANTIATE_TEST_SUITE_P(
    Holders, EachKind,
    testing::Values(Kind{"descriptor", HolderKind::kDescriptor, kUnmount, kCertain, false, "/X/file"},
                    Kind{"path-descriptor", HolderKind::kPathDescriptor, kUnmount, kCertain, false, "/X/file"},
                    Kind{"working-directory", HolderKind::kWorkingDirectory, kUnmount, kCertain, false, "/X"},
                    Kind{"root-directory", HolderKind::kRootDirectory, kUnmount, kCertain, false, "/X"},
                    Kind{"mapping", HolderKind::kMapping, kUnmount, kCertain, false, "/X/file"},
                    Kind{"executable", HolderKind::kExecutable, kUnmount, kCertain, false, "/X/program"},
                    Kind{"deleted", HolderKind::kDescriptor, kUnmount, kCertain, false, "/X/removed"},
                    Kind{"in-flight", HolderKind::kInFlight, kUnmount, Certainty::kCandidate, false, "]"},
                    Kind{"io_uring-file", HolderKind::kRingFile, kUnmount, kCertain, false, "/X/file"},
                    Kind{"bound-socket", HolderKind::kBoundSocket, kUnmount, kCertain, false, "/X/socket"},
                    Kind{"relative-socket", HolderKind::kBoundSocket, kUnmount, kCertain, false, "socket"},
                    Kind{"thread-cwd", HolderKind::kWorkingDirectory, kUnmount, kCertain, true, "/X"},
                    Kind{"thread-descriptor", HolderKind::kDescriptor, kUnmount, kCertain, true, "/X/file"},
                    Kind{"zombie-leader", HolderKind::kDescriptor, kUnmount, kCertain, true, "/X/file"},
                    Kind{"namespace", HolderKind::kNamespace, kShutdown, kCertain, false, "/X"},
                    Kind{"namespace-descriptor", HolderKind::kNamespaceByHandle, kShutdown, kCertain, false, "/X"},
                    Kind{"namespace-mount", HolderKind::kNamespaceByMount, kShutdown, kCertain, false, "/X"},
                    Kind{"detached-tree", HolderKind::kDetachedTree, kShutdown, kCertain, false, "/"},
                    Kind{"nested-mount", HolderKind::kNestedMount, kUnmount, kCertain, false, "/X/inner mount"},
                    Kind{"bind-copy", HolderKind::kMount, kShutdown, kCertain, false, "/X.copy"},
                    Kind{"overlay", HolderKind::kOverlay, kShutdown, kCertain, false, "r"},
                    Kind{"swap", HolderKind::kSwap, kUnmount, kCertain, false, "/X/swap file"},
                    Kind{"loop", HolderKind::kLoop, kUnmount, kCertain, false, "/X/inner image"},
                    Kind{"binary-format", HolderKind::kBinaryFormat, kUnmount, kCertain, false, "/X/interpreter"},
                    Kind{"uprobe", HolderKind::kUprobe, kUnmount, kCertain, false, "/X/probed"}),
    name_of_kind);

}  // namespace
}  // namespace unmoor::gone
