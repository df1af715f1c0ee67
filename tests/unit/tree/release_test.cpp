// SPDX-License-Identifier: MIT
// Every cell of the table of release policies (release_policy.h), and what can be seen of a release.
#include <atomic>
#include <latch>
#include <memory>
#include <thread>

#include "unit/tree/tree_fixture.h"

namespace unmoor::tree {
namespace {

UniverseOptions with(ReleasePolicy policy) {
  UniverseOptions options;
  options.policy = policy;
  return options;
}

class ReleaseTest : public TreeTest {
 protected:
  explicit ReleaseTest(ReleasePolicy policy) : TreeTest(with(policy)) {}
  [[nodiscard]] std::uint64_t grace_periods() const { return universe.stats().grace_periods; }
  // The shutdowns of `fs` and the grace periods waited for when `operation` returned.
  struct Outcome {
    int shutdowns;
    std::uint64_t grace_periods;
  };
  template <typename Operation>
  Outcome at_return(const Fs& fs, Operation&& operation) {
    const std::uint64_t before = grace_periods();
    operation();
    return {fs->shutdowns, grace_periods() - before};
  }
  Outcome umount(const Fs& fs, UmountFlags flags = UmountFlags::kNone) {
    return at_return(fs, [&] { EXPECT_EQ(code(ns.umount("/a", flags)), 0); });
  }
  Outcome kill_namespace(const Fs& fs) {
    return at_return(fs, [&] { MountNamespace dead = std::move(ns); });
  }
  void gone(const Fs& fs) {
    EXPECT_EQ(code(universe.drain(in(10s))), 0);
    EXPECT_EQ(fs->shutdowns, 1);
  }
};

class SynchronousTest : public ReleaseTest {
 protected:
  SynchronousTest() : ReleaseTest(ReleasePolicy::kSynchronous) {}
};
class SkipWaitTest : public ReleaseTest {
 protected:
  SkipWaitTest() : ReleaseTest(ReleasePolicy::kSkipWait) {}
};
class DeferredTest : public ReleaseTest {
 protected:
  DeferredTest() : ReleaseTest(ReleasePolicy::kDeferred) {}
};
class OnDemandTest : public ReleaseTest {
 protected:
  OnDemandTest() : ReleaseTest(ReleasePolicy::kOnDemand) {}
};

TEST_F(SynchronousTest, PlainIdleWaitsForOneGracePeriodAndIsShutDownAtReturn) {
  const Fs fs = mount("/a");
  const Outcome outcome = umount(fs);
  EXPECT_EQ(outcome.shutdowns, 1);
  EXPECT_EQ(outcome.grace_periods, 1U);
}
TEST_F(SynchronousTest, LazyIdleIsTheSame) {
  const Fs fs = mount("/a");
  const Outcome outcome = umount(fs, UmountFlags::kDetach);
  EXPECT_EQ(outcome.shutdowns, 1);
  EXPECT_EQ(outcome.grace_periods, 1U);
}
TEST_F(SynchronousTest, LazyHeldWaitsForOneGracePeriodAndTheLastHolderShutsItDown) {
  const Fs fs = mount("/a");
  Pin pin = ns.pin("/a").value();
  const Outcome outcome = umount(fs, UmountFlags::kDetach);
  EXPECT_EQ(outcome.shutdowns, 0);
  EXPECT_EQ(outcome.grace_periods, 1U);
  pin.reset();
  EXPECT_EQ(fs->shutdowns, 1);
}
TEST_F(SynchronousTest, NamespaceDeathWaitsForOneGracePeriod) {
  const Fs fs = mount("/a");
  mount("/b");
  const Outcome outcome = kill_namespace(fs);
  EXPECT_EQ(outcome.shutdowns, 1);
  EXPECT_EQ(outcome.grace_periods, 1U);
}

TEST_F(SkipWaitTest, PlainIdleIsAsSynchronous) {
  const Fs fs = mount("/a");
  const Outcome outcome = umount(fs);
  EXPECT_EQ(outcome.shutdowns, 1);
  EXPECT_EQ(outcome.grace_periods, 1U);
}
TEST_F(SkipWaitTest, LazyIdleWaitsForNothing) {
  const Fs fs = mount("/a");
  const Outcome outcome = umount(fs, UmountFlags::kDetach);
  EXPECT_EQ(outcome.shutdowns, 1);
  EXPECT_EQ(outcome.grace_periods, 0U);
}
TEST_F(SkipWaitTest, LazyHeldWaitsForNothing) {
  const Fs fs = mount("/a");
  Pin pin = ns.pin("/a").value();
  const Outcome outcome = umount(fs, UmountFlags::kDetach);
  EXPECT_EQ(outcome.shutdowns, 0);
  EXPECT_EQ(outcome.grace_periods, 0U);
  pin.reset();
  EXPECT_EQ(fs->shutdowns, 1);  // this holder came by the slow path; the leak needs the fast one (stress)
}
TEST_F(SkipWaitTest, NamespaceDeathIsAsSynchronous) {
  const Fs fs = mount("/a");
  const Outcome outcome = kill_namespace(fs);
  EXPECT_EQ(outcome.shutdowns, 1);
  EXPECT_EQ(outcome.grace_periods, 1U);
}

TEST_F(DeferredTest, PlainIdleIsAsSynchronous) {
  const Fs fs = mount("/a");
  const Outcome outcome = umount(fs);
  EXPECT_EQ(outcome.shutdowns, 1);
  EXPECT_EQ(outcome.grace_periods, 1U);
}
TEST_F(DeferredTest, LazyIdleIsNotShutDownAtReturn) {
  std::atomic<bool> stop{false};
  std::atomic<bool> reading{false};
  const Fs fs = mount("/a");
  // A reader keeps the grace period from ending, so that "not at return" is no matter of luck.
  std::thread reader([&] {
    const Result<void> visited = ns.visit("/", [&](const Visit&) {
      reading = true;
      while (!stop)
        std::this_thread::yield();
    });
    EXPECT_EQ(code(visited), 0);
  });
  while (!reading)
    std::this_thread::yield();
  EXPECT_EQ(code(ns.umount("/a", UmountFlags::kDetach)), 0);
  EXPECT_EQ(fs->shutdowns, 0);
  EXPECT_EQ(universe.pending().size(), 1U);
  EXPECT_EQ(universe.pending()[0].state, PendingRelease::State::kWaiting);
  stop = true;
  reader.join();
  gone(fs);
}
TEST_F(DeferredTest, LazyHeldIsReleasedByThePoolOrTheLastHolder) {
  const Fs fs = mount("/a");
  Pin pin = ns.pin("/a").value();
  EXPECT_EQ(code(ns.umount("/a", UmountFlags::kDetach)), 0);
  while (universe.stats().backlog != 0)
    std::this_thread::yield();
  EXPECT_EQ(fs->shutdowns, 0);
  pin.reset();
  gone(fs);
}
TEST_F(DeferredTest, NamespaceDeathIsNotDeferred) {
  const Fs fs = mount("/a");
  const Outcome outcome = kill_namespace(fs);
  EXPECT_EQ(outcome.shutdowns, 1);
  EXPECT_EQ(outcome.grace_periods, 1U);
}

TEST_F(OnDemandTest, PlainIdleNeedsNoGracePeriod) {
  const Fs fs = mount("/a");
  const Outcome outcome = umount(fs);
  EXPECT_EQ(outcome.shutdowns, 1);
  EXPECT_EQ(outcome.grace_periods, 0U);
}
TEST_F(OnDemandTest, LazyIdleNeedsNoGracePeriod) {
  const Fs fs = mount("/a");
  const Outcome outcome = umount(fs, UmountFlags::kDetach);
  EXPECT_EQ(outcome.shutdowns, 1);
  EXPECT_EQ(outcome.grace_periods, 0U);
}
TEST_F(OnDemandTest, PlainHeldIsBusyAndChangesNothing) {
  const Fs fs = mount("/a");
  const Pin pin = ns.pin("/a").value();
  const std::string before = listing();
  EXPECT_EQ(code(ns.umount("/a")), EBUSY);
  EXPECT_EQ(listing(), before);
  EXPECT_EQ(fs->shutdowns, 0);
  EXPECT_TRUE(pin.attached());
}
TEST_F(OnDemandTest, LazyHeldReturnsAtOnceAndTheHolderTakesTheReleaseOver) {
  std::atomic<bool> stop{false};
  std::atomic<bool> reading{false};
  const Fs fs = mount("/a");
  Pin pin = ns.pin("/a").value();
  std::thread reader([&] {
    const Result<void> visited = ns.visit("/", [&](const Visit&) {
      reading = true;
      while (!stop)
        std::this_thread::yield();
    });
    EXPECT_EQ(code(visited), 0);
  });
  while (!reading)
    std::this_thread::yield();
  EXPECT_EQ(code(ns.umount("/a", UmountFlags::kDetach)), 0);  // although no grace period can end
  EXPECT_EQ(fs->shutdowns, 0);
  EXPECT_FALSE(pin.attached());
  EXPECT_EQ(universe.stats().backlog, 1U);
  pin.reset();
  EXPECT_EQ(fs->shutdowns, 1);  // before the unpin returned
  EXPECT_EQ(universe.stats().taken_over, 1U);
  EXPECT_EQ(universe.stats().backlog, 0U);
  stop = true;
  reader.join();
}
TEST_F(OnDemandTest, LazyHeldBeyondTheGracePeriodIsShutDownByTheLastHolder) {
  const Fs fs = mount("/a");
  Pin pin = ns.pin("/a").value();
  EXPECT_EQ(code(ns.umount("/a", UmountFlags::kDetach)), 0);
  while (universe.stats().backlog != 0)
    std::this_thread::yield();
  EXPECT_EQ(universe.pending()[0].state, PendingRelease::State::kHeld);
  Pin copy = pin;
  pin.reset();
  EXPECT_EQ(fs->shutdowns, 0);
  copy.reset();
  EXPECT_EQ(fs->shutdowns, 1);
}
TEST_F(OnDemandTest, ManyHeldShareGracePeriods) {
  std::vector<Fs> all;
  std::vector<Pin> pins;
  for (int i = 0; i < 1000; ++i) {
    root->add("/m" + std::to_string(i));
    all.push_back(mount("/m" + std::to_string(i)));
    pins.push_back(ns.pin("/m" + std::to_string(i)).value());
  }
  EXPECT_EQ(code(ns.pin("/a")), 0);
  Fs top = make_fs();
  const std::uint64_t before = grace_periods();
  // All at once: one batch.
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(code(ns.umount("/m" + std::to_string(i), UmountFlags::kDetach)), 0);
  }
  while (universe.stats().backlog != 0)
    std::this_thread::yield();
  EXPECT_LT(grace_periods() - before, 500U);  // one each at most if each had been alone: they come while one runs
  pins.clear();
  for (const Fs& fs : all)
    EXPECT_EQ(fs->shutdowns, 1);
}
TEST_F(OnDemandTest, OneTreeOfHeldMountsSharesOneGracePeriod) {
  const Fs top = mount("/a");
  std::vector<Fs> all;
  std::vector<Pin> pins;
  for (int i = 0; i < 1000; ++i) {
    const std::string path = "/a/m" + std::to_string(i);
    top->add("/m" + std::to_string(i));
    all.push_back(mount(path));
    pins.push_back(ns.pin(path).value());
  }
  const std::uint64_t before = grace_periods();
  EXPECT_EQ(code(ns.umount("/a", UmountFlags::kDetach)), 0);
  EXPECT_EQ(top->shutdowns, 1);  // idle itself
  while (universe.stats().backlog != 0)
    std::this_thread::yield();
  EXPECT_EQ(grace_periods() - before, 1U);
}
TEST_F(OnDemandTest, NamespaceDeathIdleNeedsNone) {
  const Fs fs = mount("/a");
  const Outcome outcome = kill_namespace(fs);
  EXPECT_EQ(outcome.shutdowns, 1);
  EXPECT_EQ(outcome.grace_periods, 0U);
}
TEST_F(OnDemandTest, NamespaceDeathHeldNeedsOneInTheCaller) {
  const Fs fs = mount("/a");
  Pin pin = ns.pin("/a").value();
  const Outcome outcome = kill_namespace(fs);
  EXPECT_EQ(outcome.shutdowns, 0);
  EXPECT_EQ(outcome.grace_periods, 1U);
  EXPECT_EQ(root->shutdowns, 1);
  pin.reset();
  EXPECT_EQ(fs->shutdowns, 1);
}

TEST_F(OnDemandTest, WaitSaysWhenAMountIsGone) {
  const MountId id = ns.mount(make_fs(), "fs", "/a").value();
  EXPECT_EQ(code(universe.wait(id, in(0ms))), EBUSY);
  EXPECT_EQ(code(universe.wait(MountId{1}, in(0ms))), ENOENT);
  Pin pin = ns.pin("/a").value();
  EXPECT_EQ(code(ns.umount("/a", UmountFlags::kDetach)), 0);
  EXPECT_EQ(code(universe.wait(id, in(20ms))), ETIMEDOUT);
  std::thread holder([&] { pin.reset(); });
  EXPECT_EQ(code(universe.wait(id, in(10s))), 0);
  holder.join();
  EXPECT_EQ(code(universe.wait(id, in(0ms))), 0);
}

TEST_F(OnDemandTest, OneSlowShutdownDelaysNoOther) {
  const Fs top = mount("/a");
  std::atomic<bool> stop{false};
  const Fs slow = mount("/a/a");
  slow->on_shutdown = [&] {
    while (!stop)
      std::this_thread::sleep_for(1ms);
  };
  std::vector<Fs> others{mount("/a/b"), mount("/a/c"), mount("/a/d")};
  std::atomic<bool> returned{false};
  std::thread caller([&] {
    EXPECT_EQ(code(ns.umount("/a", UmountFlags::kDetach)), 0);
    returned = true;
  });
  const Deadline limit = in(5s);
  const auto all_down = [&] {
    for (const Fs& fs : others) {
      if (fs->shutdowns == 0) return false;
    }
    return top->shutdowns != 0;
  };
  while (!all_down() && std::chrono::steady_clock::now() < limit)
    std::this_thread::sleep_for(1ms);
  EXPECT_TRUE(all_down());
  EXPECT_FALSE(returned);  // it has promised that all of its own are shut down
  // And another caller is not concerned at all.
  const Fs other = mount("/b");
  EXPECT_EQ(code(ns.umount("/b", UmountFlags::kDetach)), 0);
  EXPECT_EQ(other->shutdowns, 1);
  stop = true;
  caller.join();
  EXPECT_EQ(slow->shutdowns, 1);
}

// Others that got on with theirs were once taken for progress of the one that was stuck.
TEST_F(OnDemandTest, OneSlowShutdownDelaysNoOtherWhileAThirdThreadUnmountsAllTheTime) {
  const Fs top = mount("/a");
  std::atomic<bool> stop{false};
  top->on_shutdown = [&] {
    while (!stop)
      std::this_thread::sleep_for(1ms);
  };
  const std::vector<Fs> others{mount("/a/a"), mount("/a/b")};
  for (const Fs& fs : others)
    fs->on_shutdown = top->on_shutdown;  // whichever comes first holds up the caller
  std::thread caller([&] { EXPECT_EQ(code(ns.umount("/a", UmountFlags::kDetach)), 0); });
  const Deadline limit = in(5s);
  const auto all_begun = [&] { return top->shutdowns != 0 && others[0]->shutdowns != 0 && others[1]->shutdowns != 0; };
  while (!all_begun() && std::chrono::steady_clock::now() < limit) {
    static_cast<void>(mount("/b"));
    EXPECT_EQ(code(ns.umount("/b")), 0);
  }
  EXPECT_TRUE(all_begun());
  stop = true;
  caller.join();
}

TEST_F(DeferredTest, OneSlowShutdownInThePoolDelaysNoOther) {
  std::atomic<bool> stop{false};
  const Fs slow = mount("/a");
  slow->on_shutdown = [&] {
    while (!stop)
      std::this_thread::sleep_for(1ms);
  };
  EXPECT_EQ(code(ns.umount("/a", UmountFlags::kDetach)), 0);
  while (slow->shutdowns == 0)
    std::this_thread::sleep_for(1ms);
  for (int i = 0; i < 20; ++i) {
    const Fs fs = mount("/b");
    const MountId id = ns.list().value().back();
    EXPECT_EQ(code(ns.umount("/b", UmountFlags::kDetach)), 0);
    EXPECT_EQ(code(universe.wait(id, in(5s))), 0);
    EXPECT_EQ(fs->shutdowns, 1);
  }
  EXPECT_EQ(code(universe.drain(in(10ms))), ETIMEDOUT);
  stop = true;
  gone(slow);
}

// The worker called for twice as many helpers with each shutdown, although nothing stalled: 2^64 of them in the end.
TEST_F(DeferredTest, APoolThatGetsOnWithItsWorkCallsForNoMoreHelpers) {
  const Fs top = mount("/a");
  std::vector<Fs> all;
  for (int i = 0; i < 200; ++i) {
    top->add("/m" + std::to_string(i));
    all.push_back(mount("/a/m" + std::to_string(i)));
  }
  EXPECT_EQ(code(ns.umount("/a", UmountFlags::kDetach)), 0);
  gone(top);
  for (const Fs& fs : all)
    EXPECT_EQ(fs->shutdowns, 1);
}

TEST_F(OnDemandTest, MountpointsAreDroppedBeforeTheReleases) {
  const Fs fs = mount("/a");
  fs->on_shutdown = [&] { EXPECT_THAT(root->dropped(), testing::Contains("/a")); };
  EXPECT_EQ(code(ns.bind("/a", "/b")), 0);
  EXPECT_EQ(code(ns.umount("/b")), 0);
  EXPECT_THAT(root->dropped(), testing::ElementsAre("/b"));
  root->on_dropped = [&] { EXPECT_EQ(fs->shutdowns, 0); };
  EXPECT_EQ(code(ns.umount("/a", UmountFlags::kDetach)), 0);
  EXPECT_EQ(fs->shutdowns, 1);
}

// One call is about to tell a filesystem of a free mountpoint when another call unmounts that filesystem: it is shut
// down, a grace period passes, and it must be there still. The tree kept no reference in that moment.
TEST_F(OnDemandTest, AFilesystemThatIsToldOfAMountpointOutlivesItsUnmount) {
  Fs told = mount("/a");
  const std::weak_ptr<MemoryFilesystem> alive = told;
  const Fs above = mount("/a/b");
  std::latch telling(1);
  std::latch go_on(1);
  told->on_dropped = [&] {
    telling.count_down();
    go_on.wait();
  };
  told.reset();
  std::jthread detacher([&] { EXPECT_EQ(code(ns.umount("/a/b", UmountFlags::kDetach)), 0); });
  telling.wait();
  EXPECT_EQ(code(ns.umount("/a")), 0);
  // Whatever is retired later is freed later.
  Fs later = mount("/a");
  const std::weak_ptr<MemoryFilesystem> freed_later = later;
  later.reset();
  EXPECT_EQ(code(ns.umount("/a")), 0);
  const auto deadline = std::chrono::steady_clock::now() + 10s;
  while (!freed_later.expired() && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(1ms);
  EXPECT_TRUE(freed_later.expired());
  EXPECT_FALSE(alive.expired());
  go_on.count_down();
}

TEST(Backlog, IsBoundedByBackPressure) {
  UniverseOptions options;
  options.policy = ReleasePolicy::kDeferred;
  options.backlog_max = 4;
  Universe universe = Universe::create(options).value();
  const Fs root = make_fs();
  MountNamespace ns = universe.create_namespace(root, "root").value();
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(code(ns.mount(make_fs(), "fs", "/a")), 0);
    EXPECT_EQ(code(ns.umount("/a", UmountFlags::kDetach)), 0);
    EXPECT_LE(universe.stats().backlog, 5U);
    EXPECT_LE(universe.stats().unretired, 64U);
  }
  EXPECT_LE(universe.stats().backlog_peak, 5U);
  EXPECT_EQ(code(universe.drain(in(10s))), 0);
}

}  // namespace
}  // namespace unmoor::tree
