// SPDX-License-Identifier: MIT
// Propagation in small: the tables of bind and move, and the two invariants of propagate_umount over random forests.
#include <map>
#include <random>
#include <string>
#include <vector>

#include "unit/tree/tree_fixture.h"

namespace unmoor::tree {
namespace {

using PropagationTest = TreeTest;

MountStatus at(const MountNamespace& ns, const std::string& path) {
  MountStatus found;
  const auto mounts = ns.list_status();
  for (const MountStatus& mount : *mounts) {
    if (mount.mount_point == path) found = mount;
  }
  return found;
}

// What the source's and the destination's types make of the copy. Rows: docs of sharedsubtree, "bind".
TEST_F(PropagationTest, BindTable) {
  for (const bool shared_destination : {false, true}) {
    for (const Propagation source :
         {Propagation::kShared, Propagation::kPrivate, Propagation::kSlave, Propagation::kUnbindable}) {
      MountNamespace fresh = universe.create_namespace(make_fs(), "root").value();
      EXPECT_EQ(code(fresh.mount(make_fs(), "src", "/a")), 0);
      EXPECT_EQ(code(fresh.mount(make_fs(), "dst", "/b")), 0);
      if (source == Propagation::kSlave) {
        EXPECT_EQ(code(fresh.change_propagation("/a", Propagation::kShared)), 0);
        EXPECT_EQ(code(fresh.bind("/a", "/c")), 0);  // the peer that stays its master
      }
      EXPECT_EQ(code(fresh.change_propagation("/a", source)), 0);
      if (shared_destination) {
        EXPECT_EQ(code(fresh.change_propagation("/b", Propagation::kShared)), 0);
      }
      const int bound = code(fresh.bind("/a", "/b/a"));
      if (source == Propagation::kUnbindable) {
        EXPECT_EQ(bound, EINVAL);
        continue;
      }
      ASSERT_EQ(bound, 0);
      const MountStatus copy = at(fresh, "/b/a");
      EXPECT_EQ(copy.peer_group != 0, shared_destination || source == Propagation::kShared);
      EXPECT_EQ(copy.master != 0, source == Propagation::kSlave);
      if (source == Propagation::kShared) {
        EXPECT_EQ(copy.peer_group, at(fresh, "/a").peer_group);
      }
    }
  }
}

TEST_F(PropagationTest, MoveTable) {
  for (const bool shared_destination : {false, true}) {
    for (const Propagation source :
         {Propagation::kShared, Propagation::kPrivate, Propagation::kSlave, Propagation::kUnbindable}) {
      MountNamespace fresh = universe.create_namespace(make_fs(), "root").value();
      EXPECT_EQ(code(fresh.mount(make_fs(), "src", "/a")), 0);
      EXPECT_EQ(code(fresh.mount(make_fs(), "dst", "/b")), 0);
      if (source == Propagation::kSlave) {
        EXPECT_EQ(code(fresh.change_propagation("/a", Propagation::kShared)), 0);
        EXPECT_EQ(code(fresh.bind("/a", "/c")), 0);
      }
      EXPECT_EQ(code(fresh.change_propagation("/a", source)), 0);
      if (shared_destination) {
        EXPECT_EQ(code(fresh.change_propagation("/b", Propagation::kShared)), 0);
      }
      const int moved = code(fresh.move("/a", "/b/a"));
      if (source == Propagation::kUnbindable && shared_destination) {
        EXPECT_EQ(moved, EINVAL);
        continue;
      }
      ASSERT_EQ(moved, 0);
      const MountStatus there = at(fresh, "/b/a");
      EXPECT_EQ(there.peer_group != 0, shared_destination || source == Propagation::kShared);
      EXPECT_EQ(there.master != 0, source == Propagation::kSlave);
      EXPECT_EQ(there.unbindable, source == Propagation::kUnbindable);
      EXPECT_EQ(at(fresh, "/a").filesystem, "");
    }
  }
}

// A forest: the mounts of all namespaces, by id, with parent and place.
struct Forest {
  std::map<MountId, MountStatus> mounts;
};
Forest forest_of(const std::vector<MountNamespace>& namespaces) {
  Forest forest;
  for (const MountNamespace& ns : namespaces) {
    const auto mounts = ns.list_status();
    for (const MountStatus& mount : *mounts)
      forest.mounts[mount.id] = mount;
  }
  return forest;
}

// A mount that covers the root of its parent.
bool covers(const MountStatus& mount, const MountStatus& parent) {
  return mount.mount_point == parent.mount_point;
}

TEST(PropagateUmount, IsNonShiftingAndNonRevealingOnRandomForests) {
  Universe universe = Universe::create().value();
  int umounts = 0;
  for (unsigned seed = 1; seed <= 2000; ++seed) {
    std::mt19937 random(seed);
    std::vector<MountNamespace> all;
    all.push_back(universe.create_namespace(make_fs(), "root").value());
    const auto path = [&random] {
      static constexpr const char* kNames[] = {"/a", "/a/b", "/b", "/c", "/a/b/c", "/d"};
      return std::string(kNames[random() % 6]);
    };
    // Two levels, shared, with one or two copies that receive: then everybody for himself.
    for (const char* const where : {"/a", "/a/b", "/b"})
      EXPECT_EQ(code(all[0].mount(make_fs(), where, where)), 0);
    EXPECT_EQ(code(all[0].change_propagation("/", Propagation::kShared, Recursion::kTree)), 0);
    for (unsigned copies = 1 + random() % 2; copies != 0; --copies) {
      all.push_back(all[0].copy(random() % 2 == 0 ? OwnerChange::kSame : OwnerChange::kLessPrivileged).value());
    }
    for (int step = 0; step < 8; ++step) {
      MountNamespace& ns = all[random() % all.size()];
      switch (random() % 8) {
        case 0:
        case 1:
        case 2:
          static_cast<void>(ns.mount(make_fs(), std::to_string(step), path()));
          break;
        case 3:
          static_cast<void>(ns.bind(path(), path(), random() % 2 == 0 ? Recursion::kTree : Recursion::kOne));
          break;
        case 4:
          static_cast<void>(ns.change_propagation(path(), Propagation::kShared, Recursion::kTree));
          break;
        case 5:
          static_cast<void>(ns.change_propagation(path(), Propagation::kSlave));
          break;
        case 6:
          static_cast<void>(ns.move(path(), path()));
          break;
        default:
          if (all.size() < 4) {
            Result<MountNamespace> copy =
                ns.copy(random() % 2 == 0 ? OwnerChange::kSame : OwnerChange::kLessPrivileged);
            if (copy) all.push_back(std::move(*copy));
          }
      }
    }
    const Forest before = forest_of(all);
    MountNamespace& ns = all[random() % 2 == 0 ? 0 : random() % all.size()];
    const std::string target = path();
    const Result<MountId> top = ns.visit(target, [](const Visit& visit) { return visit.mount; });
    if (!top || code(ns.umount(target, UmountFlags::kDetach)) != 0) continue;
    ++umounts;
    const Forest after = forest_of(all);
    // Every mount that is in a namespace can be seen, but for each namespace's own root: nothing hangs on one that
    // went.
    const Stats stats = universe.stats();
    EXPECT_EQ(stats.mounts - stats.detached, after.mounts.size() + all.size()) << "seed " << seed << ": left hanging";
    for (const auto& [id, mount] : after.mounts) {
      // Nothing is made, and nothing that stays is seen at another place: a cover slides down where it was seen
      // already.
      ASSERT_TRUE(before.mounts.contains(id)) << seed;
      EXPECT_EQ(mount.mount_point, before.mounts.at(id).mount_point) << "seed " << seed << ": shifted";
      const MountStatus& was = before.mounts.at(id);
      const auto parent = before.mounts.find(was.parent);
      if (parent != before.mounts.end() && !after.mounts.contains(was.parent)) {
        EXPECT_TRUE(covers(was, parent->second)) << "seed " << seed << ": something inside a mount that went stayed";
      }
    }
    for (const auto& [id, mount] : before.mounts) {
      if (after.mounts.contains(id) || !mount.locked) continue;
      // A locked one went: its parent went too, or it was a cognate of the one that was asked for, which unlocks it.
      const bool parent_stays = after.mounts.contains(mount.parent);
      if (!parent_stays) continue;
      const MountStatus& asked = before.mounts.at(*top);
      EXPECT_TRUE(mount.filesystem == asked.filesystem && mount.root == asked.root) << "seed " << seed << ": revealed";
    }
  }
  EXPECT_GT(umounts, 800);
}

}  // namespace
}  // namespace unmoor::tree
