// SPDX-License-Identifier: MIT
// mount, bind, move, umount, pivot_root, attributes, copies: what they do and what they refuse.
#include "unit/tree/tree_fixture.h"

namespace unmoor::tree {
namespace {

using OperationsTest = TreeTest;

TEST_F(OperationsTest, MountAndUmount) {
  const Fs fs = mount("/a", "one");
  EXPECT_EQ(listing(), "/ / root\n/a / one\n");
  EXPECT_EQ(code(ns.umount("/a")), 0);
  EXPECT_EQ(fs->shutdowns, 1);
  EXPECT_EQ(listing(), "/ / root\n");
  EXPECT_EQ(code(ns.umount("/a")), EINVAL);
}

TEST_F(OperationsTest, MountsStack) {
  mount("/a", "one");
  mount("/a", "two");
  EXPECT_EQ(listing(), "/ / root\n/a / one\n/a / two\n");
  EXPECT_EQ(ns.pin("/a")->filesystem().kind("/"), FileKind::kDirectory);
  EXPECT_EQ(code(ns.umount("/a")), 0);
  EXPECT_EQ(listing(), "/ / root\n/a / one\n");
}

TEST_F(OperationsTest, SameFilesystemTwiceOnTheSamePlaceIsBusy) {
  const Fs fs = mount("/a", "one");
  EXPECT_EQ(code(ns.mount(fs, "one", "/a")), EBUSY);
  EXPECT_EQ(code(ns.mount(fs, "one", "/b")), 0);
  EXPECT_EQ(code(ns.umount("/a")), 0);
  EXPECT_EQ(fs->shutdowns, 0);
  EXPECT_EQ(code(ns.umount("/b")), 0);
  EXPECT_EQ(fs->shutdowns, 1);
  EXPECT_EQ(code(ns.mount(fs, "one", "/b")), ESTALE);
}

TEST_F(OperationsTest, FailedMountLeavesTheFilesystemUntouched) {
  const Fs fs = make_fs();
  EXPECT_EQ(code(ns.mount(fs, "one", "/file")), ENOTDIR);
  EXPECT_EQ(code(ns.mount(fs, "one", "/nothing")), ENOENT);
  EXPECT_EQ(code(ns.mount(fs, "one", "")), ENOENT);
  EXPECT_EQ(code(ns.mount(nullptr, "one", "/a")), EINVAL);
  EXPECT_EQ(fs->shutdowns, 0);
  EXPECT_EQ(code(ns.mount(fs, "one", "/a")), 0);
}

TEST_F(OperationsTest, BindAndRecursiveBind) {
  mount("/a", "one");
  mount("/a/b", "two");
  EXPECT_EQ(code(ns.bind("/a", "/b")), 0);
  EXPECT_EQ(code(ns.bind("/a", "/c", Recursion::kTree)), 0);
  EXPECT_EQ(listing(), "/ / root\n/a / one\n/a/b / two\n/b / one\n/c / one\n/c/b / two\n");
  EXPECT_EQ(code(ns.bind("/a/a/b", "/d")), 0);
  EXPECT_THAT(listing(), testing::HasSubstr("/d /a/b one\n"));
  EXPECT_EQ(code(ns.bind("", "/d")), EINVAL);
  EXPECT_EQ(code(ns.bind("/file", "/d")), ENOTDIR);
}

TEST_F(OperationsTest, Move) {
  mount("/a", "one");
  mount("/a/b", "two");
  EXPECT_EQ(code(ns.move("/a", "/b")), 0);
  EXPECT_EQ(listing(), "/ / root\n/b / one\n/b/b / two\n");
  EXPECT_EQ(code(ns.move("/b", "/b/b/a")), ELOOP);
  EXPECT_EQ(code(ns.move("/a", "/c")), EINVAL);
  EXPECT_EQ(code(ns.move("/", "/c")), ELOOP);  // Linux: it has a parent, and the target is below it
  EXPECT_EQ(code(ns.move("/b", "/file")), EINVAL);
}

TEST_F(OperationsTest, MoveBeneath) {
  mount("/a", "one");
  mount("/b", "two");
  // Linux refuses it on the child of the namespace's own root only, which the root's mount is.
  EXPECT_EQ(code(ns.move_beneath("/b", "/a")), 0);
  EXPECT_EQ(listing(), "/ / root\n/a / one\n/a / two\n");
  EXPECT_EQ(code(ns.umount("/a")), 0);
  EXPECT_EQ(listing(), "/ / root\n/a / two\n");
}

TEST_F(OperationsTest, UmountOfAParentIsBusy) {
  mount("/a", "one");
  mount("/a/b", "two");
  EXPECT_EQ(code(ns.umount("/a")), EBUSY);
  EXPECT_EQ(code(ns.umount("/a", UmountFlags::kDetach)), 0);
  EXPECT_EQ(listing(), "/ / root\n");
}

TEST_F(OperationsTest, ExpireNeedsTwoCallsAndNoUseBetween) {
  const Fs fs = mount("/a");
  EXPECT_EQ(code(ns.umount("/a", UmountFlags::kExpire | UmountFlags::kDetach)), EINVAL);
  EXPECT_EQ(code(ns.umount("/a", UmountFlags::kExpire)), EAGAIN);
  EXPECT_EQ(code(ns.pin("/a")), 0);
  EXPECT_EQ(code(ns.umount("/a", UmountFlags::kExpire)), EAGAIN);
  {
    const auto use = ns.pin("/a");
    EXPECT_EQ(code(ns.umount("/a", UmountFlags::kExpire)), EBUSY);
  }
  EXPECT_EQ(code(ns.umount("/a", UmountFlags::kExpire)), EAGAIN);
  EXPECT_EQ(code(ns.umount("/a", UmountFlags::kExpire)), 0);
  EXPECT_EQ(fs->shutdowns, 1);
}

TEST_F(OperationsTest, ForceTellsTheFilesystemToAbort) {
  const Fs fs = mount("/a");
  EXPECT_EQ(code(ns.umount("/a", UmountFlags::kForce)), 0);
  EXPECT_EQ(fs->aborts, 1);
  EXPECT_EQ(fs->shutdowns, 1);
  EXPECT_EQ(code(ns.umount("/a", static_cast<UmountFlags>(16))), EINVAL);
}

TEST_F(OperationsTest, UmountOfTheRootOnlyMakesItReadOnly) {
  EXPECT_EQ(code(ns.umount("/")), 0);
  EXPECT_EQ(listing(), "/ / root\n");
  EXPECT_EQ(root->shutdowns, 0);
}

TEST_F(OperationsTest, PivotRoot) {
  const Fs fs = mount("/a", "one");
  EXPECT_EQ(code(ns.pivot_root("/a", "/b")), EBUSY);
  EXPECT_EQ(code(ns.pivot_root("/b", "/a/b")), EBUSY);
  EXPECT_EQ(code(ns.pivot_root("/file", "/a/b")), ENOTDIR);
  EXPECT_EQ(code(ns.pivot_root("/a/b", "/a/b")), EINVAL);
  EXPECT_EQ(code(ns.pivot_root("/a", "/a/b")), 0);
  EXPECT_EQ(listing(), "/b / root\n/ / one\n");
  EXPECT_EQ(code(ns.umount("/b")), 0);
  EXPECT_EQ(root->shutdowns, 1);
}

TEST_F(OperationsTest, MountMaxIsEnforced) {
  Universe small = Universe::create({.mount_max = 4}).value();
  const Fs base = make_fs();
  MountNamespace tight = small.create_namespace(base, "root").value();
  EXPECT_EQ(code(tight.mount(make_fs(), "1", "/a")), 0);
  EXPECT_EQ(code(tight.mount(make_fs(), "2", "/b")), 0);
  const Fs refused = make_fs();
  EXPECT_EQ(code(tight.mount(refused, "3", "/c")), ENOSPC);
  EXPECT_EQ(refused->shutdowns, 0);
  EXPECT_EQ(code(tight.umount("/a")), 0);
  EXPECT_EQ(code(tight.mount(refused, "3", "/c")), 0);
}

TEST_F(OperationsTest, CopyOfANamespaceIsIndependent) {
  const Fs fs = mount("/a", "one");
  {
    MountNamespace copy = ns.copy().value();
    EXPECT_EQ(listing(copy), listing());
    EXPECT_EQ(code(ns.umount("/a")), 0);
    EXPECT_EQ(listing(copy), "/ / root\n/a / one\n");
    EXPECT_EQ(fs->shutdowns, 0);
  }
  EXPECT_EQ(fs->shutdowns, 1);
}

TEST_F(OperationsTest, CopyForALessPrivilegedOwnerIsLocked) {
  const Fs fs = mount("/a", "one");
  EXPECT_EQ(code(ns.set_attributes("/a", {.set = Attribute::kReadOnly})), 0);
  MountNamespace copy = ns.copy(OwnerChange::kLessPrivileged).value();
  EXPECT_EQ(code(copy.umount("/a")), EINVAL);
  EXPECT_EQ(code(copy.set_attributes("/a", {.clear = Attribute::kReadOnly})), EPERM);
  EXPECT_EQ(code(copy.set_attributes("/a", {.atime = Atime::kNone})), EPERM);
  EXPECT_EQ(code(copy.set_attributes("/a", {.set = Attribute::kNoSuid})), 0);
  EXPECT_EQ(code(copy.bind("/", "/b")), EINVAL);
  EXPECT_EQ(code(copy.bind("/", "/b", Recursion::kTree)), 0);
}

TEST_F(OperationsTest, DetachedTrees) {
  mount("/a", "one");
  const Fs inner = mount("/a/b", "two");
  DetachedTree tree = ns.clone_tree("/a").value();
  EXPECT_EQ(code(ns.umount("/a", UmountFlags::kDetach)), 0);
  EXPECT_EQ(inner->shutdowns, 0);
  EXPECT_EQ(code(ns.attach(tree, "/c")), 0);
  EXPECT_EQ(listing(), "/ / root\n/c / one\n/c/b / two\n");
  EXPECT_EQ(code(ns.attach(tree, "/d")), 0);  // now an ordinary move
  EXPECT_EQ(listing(), "/ / root\n/d / one\n/d/b / two\n");
  const Fs loose = make_fs();
  {
    DetachedTree never = universe.create_detached(loose, "three").value();
  }
  EXPECT_EQ(loose->shutdowns, 1);
}

TEST_F(OperationsTest, QueriesByUniqueId) {
  const MountId one = ns.mount(make_fs(), "one", "/a").value();
  const MountId two = ns.mount(make_fs(), "two", "/a/b").value();
  EXPECT_EQ(ns.status(two)->mount_point, "/a/b");
  EXPECT_EQ(ns.status(two)->parent, one);
  EXPECT_EQ(code(ns.status(MountId{7})), ENOENT);
  const auto all = ns.list().value();
  EXPECT_EQ(all.size(), 3U);
  EXPECT_EQ(ns.list(one).value(), std::vector<MountId>{two});
  EXPECT_EQ(ns.list({}, 1).value().size(), 1U);
  EXPECT_EQ(code(ns.umount("/a", UmountFlags::kDetach)), 0);
  EXPECT_EQ(code(ns.status(one)), ENOENT);
  EXPECT_THAT(ns.mountinfo().value(), testing::HasSubstr(" / / rw,relatime - root\n"));
}

}  // namespace
}  // namespace unmoor::tree
