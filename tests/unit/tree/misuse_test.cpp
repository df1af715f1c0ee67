// SPDX-License-Identifier: MIT
// Wrong use has a defined result.
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "unit/tree/tree_fixture.h"

namespace unmoor::tree {
namespace {

using MisuseTest = TreeTest;

TEST_F(MisuseTest, APinMayOutliveItsNamespace) {
  const Fs fs = mount("/a");
  Pin pin = ns.pin("/a/b").value();
  {
    const MountNamespace dead = std::move(ns);
  }
  EXPECT_EQ(root->shutdowns, 1);
  EXPECT_EQ(fs->shutdowns, 0);
  EXPECT_FALSE(pin.attached());
  EXPECT_EQ(pin.path(), "/b");
  EXPECT_EQ(pin.filesystem().kind("/b"), FileKind::kDirectory);
  pin.reset();
  EXPECT_EQ(fs->shutdowns, 1);
}

TEST(Misuse, APinMayOutliveItsUniverse) {
  const Fs fs = make_fs();
  Pin pin;
  {
    Universe universe = Universe::create().value();
    MountNamespace ns = universe.create_namespace(fs, "root").value();
    pin = ns.pin("/").value();
  }
  EXPECT_EQ(fs->shutdowns, 0);
  pin.reset();
  EXPECT_EQ(fs->shutdowns, 1);
}

TEST_F(MisuseTest, AShutdownThatThrowsCountsAsDone) {
  const Fs fs = mount("/a");
  fs->on_shutdown = [] { throw std::runtime_error("no"); };
  EXPECT_EQ(code(ns.umount("/a")), 0);
  EXPECT_EQ(universe.stats().failed_shutdowns, 1U);
  EXPECT_EQ(universe.pending().size(), 0U);
  EXPECT_EQ(code(ns.mount(fs, "fs", "/a")), ESTALE);
}

TEST_F(MisuseTest, AShutdownThatCallsBackIsToldOfTheDeadlock) {
  const Fs fs = mount("/a");
  mount("/b");
  int answers = 0;
  fs->on_shutdown = [&] {
    EXPECT_EQ(code(ns.umount("/b")), EDEADLK);
    EXPECT_EQ(code(ns.mount(make_fs(), "fs", "/c")), EDEADLK);
    EXPECT_EQ(code(universe.drain(in(0ms))), EDEADLK);
    EXPECT_EQ(code(universe.wait(MountId{1}, in(0ms))), EDEADLK);
    EXPECT_EQ(code(ns.visit("/b", [](const Visit&) {})), 0);  // looking is allowed
    ++answers;
  };
  EXPECT_EQ(code(ns.umount("/a")), 0);
  EXPECT_EQ(answers, 1);
}

TEST_F(MisuseTest, AShutdownThatUnpinsReleasesTheOtherBeforeUmountReturns) {
  // A stack of filesystems, each holding the one below: no recursion, however deep.
  constexpr int kDepth = 20000;
  std::vector<Fs> stack;
  Pin below;
  for (int i = 0; i < kDepth; ++i) {
    Fs fs = make_fs();
    auto held = std::make_shared<Pin>(std::move(below));
    fs->on_shutdown = [held] { held->reset(); };
    EXPECT_EQ(code(ns.mount(fs, "fs", "/a")), 0);
    below = ns.pin("/a").value();
    EXPECT_EQ(code(ns.umount("/a", UmountFlags::kDetach)), 0);
    stack.push_back(std::move(fs));
  }
  EXPECT_EQ(stack.front()->shutdowns, 0);
  below.reset();
  for (const Fs& fs : stack)
    EXPECT_EQ(fs->shutdowns, 1);
}

TEST_F(MisuseTest, UmountInsideACallbackIsToldOfTheDeadlock) {
  const Fs fs = mount("/a");
  const Result<int> answer = ns.visit("/a", [&](const Visit&) { return code(ns.umount("/a", UmountFlags::kDetach)); });
  EXPECT_EQ(answer.value(), EDEADLK);
  EXPECT_EQ(fs->shutdowns, 0);
}

TEST_F(MisuseTest, TheLastUnpinInsideACallbackLeavesTheReleaseToThePool) {
  const Fs fs = mount("/a");
  Pin pin = ns.pin("/a").value();
  const MountId id = pin.mount();
  EXPECT_EQ(code(ns.umount("/a", UmountFlags::kDetach)), 0);
  EXPECT_EQ(code(ns.visit("/",
                          [&](const Visit&) {
                            pin.reset();
                            EXPECT_EQ(fs->shutdowns, 0);
                          })),
            0);
  EXPECT_EQ(code(universe.wait(id, in(10s))), 0);
  EXPECT_EQ(fs->shutdowns, 1);
}

TEST_F(MisuseTest, ANamespaceThatDiesInsideACallbackLeavesEverythingToThePool) {
  const Fs fs = mount("/a");
  MountNamespace other = ns.copy().value();
  EXPECT_EQ(code(ns.umount("/a")), 0);
  EXPECT_EQ(code(ns.visit("/", [&](const Visit&) { const MountNamespace dead = std::move(other); })), 0);
  EXPECT_EQ(code(universe.drain(in(10s))), 0);
  EXPECT_EQ(fs->shutdowns, 1);
}

TEST_F(MisuseTest, PathsThatAreNone) {
  const auto look = [&](std::string_view path) { return code(ns.visit(path, [](const Visit&) {})); };
  EXPECT_EQ(look(""), ENOENT);
  EXPECT_EQ(look("/"), 0);
  EXPECT_EQ(look("/../../.."), 0);
  EXPECT_EQ(look("/a/../../a/b/."), 0);
  EXPECT_EQ(look("/file"), 0);
  EXPECT_EQ(look("/file/"), ENOTDIR);
  EXPECT_EQ(look("/file/x"), ENOTDIR);
  EXPECT_EQ(look("/file/.."), ENOTDIR);
  EXPECT_EQ(look("/none/.."), ENOENT);
  EXPECT_EQ(look(std::string_view("/a\0b", 4)), EINVAL);
  EXPECT_EQ(look("/" + std::string(256, 'x')), ENAMETOOLONG);
  std::string components;
  for (int i = 0; i < 10000; ++i)
    components += "/a";
  EXPECT_EQ(look(components), ENAMETOOLONG);
  std::string dots;
  for (int i = 0; i < 2000; ++i)
    dots += "./";
  EXPECT_EQ(look(dots), 0);
}

TEST_F(MisuseTest, TheChildOfAForkIsRefusedAndHarmsNobody) {
  const Fs fs = mount("/a");
  Pin pin = ns.pin("/a").value();
  const pid_t child = fork();
  if (child == 0) {
    bool right = code(ns.umount("/a")) == ESTALE && code(ns.visit("/", [](const Visit&) {})) == ESTALE &&
                 code(ns.pin("/")) == ESTALE && code(universe.drain(in(0ms))) == ESTALE && code(ns.list()) == ESTALE;
    pin.reset();
    {
      const MountNamespace dead = std::move(ns);
    }
    right = right && fs->shutdowns == 0;
    _exit(right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(code(ns.umount("/a")), EBUSY);
  pin.reset();
  EXPECT_EQ(code(ns.umount("/a")), 0);
}

TEST_F(MisuseTest, OneFilesystemInTwoUniverses) {
  const Fs fs = mount("/a");
  Universe second = Universe::create().value();
  EXPECT_EQ(code(second.create_namespace(fs, "root")), EBUSY);
  EXPECT_EQ(fs->shutdowns, 0);
}

TEST(Misuse, OptionsThatAreNone) {
  UniverseOptions options;
  options.count_shards = 3;
  EXPECT_EQ(code(Universe::create(options)), EINVAL);
  options = {};
  options.backlog_max = 0;
  EXPECT_EQ(code(Universe::create(options)), EINVAL);
}

}  // namespace
}  // namespace unmoor::tree
