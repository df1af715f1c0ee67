// SPDX-License-Identifier: MIT
#include "cli/bench/mass.h"

#include <algorithm>
#include <cerrno>
#include <functional>
#include <sys/mount.h>
#include <sys/stat.h>

#include <fmt/format.h>

#include "cli/bench/own_calls.h"
#include "measure/command.h"

namespace unmoor::cli::bench {
namespace {

using measure::Arguments;
using measure::MountNamespace;
using measure::Role;
using measure::Scenario;
using measure::Side;

using Step = std::function<Result<void>()>;

std::string place(std::size_t number) {
  return fmt::format("mnt/{}", number);
}

Result<void> mount_in_new(const std::string& at) {
  if (mkdir(at.c_str(), 0755) != 0 && errno != EEXIST) return fail(errno, "mkdir", at);
  return mount_tmpfs(at);
}

// mnt, a tmpfs, and `count` more in it.
Result<void> mount_side_by_side(std::size_t count) {
  Result<void> done = mount_tmpfs(kPoint);
  for (std::size_t i = 0; done && i < count; ++i)
    done = mount_in_new(place(i));
  return done;
}

Result<void> mount_stack(std::size_t count) {
  Result<void> done;
  for (std::size_t i = 0; done && i < count; ++i)
    done = mount_tmpfs(kPoint);
  return done;
}

// As side by side, with a second mount of mnt's peer group: each mount and umount below one is done below the other.
Result<void> mount_peers(std::size_t count) {
  Result<void> done = mount_tmpfs(kPoint);
  if (done && mount("none", "mnt", nullptr, MS_SHARED, nullptr) != 0) return fail(errno, "make shared", "mnt");
  if (mkdir("peer", 0755) != 0 && errno != EEXIST) return fail(errno, "mkdir", "peer");
  if (done && mount("mnt", "peer", nullptr, MS_BIND, nullptr) != 0) return fail(errno, "bind", "peer");
  for (std::size_t i = 0; done && i < count; ++i)
    done = mount_in_new(place(i));
  return done;
}

Result<void> clean_up() {
  (void)leave_nothing_mounted(kPoint);
  return leave_nothing_mounted("peer");
}

Result<void> loop_over(std::size_t count) {
  Result<void> done;
  for (std::size_t i = count; done && i-- > 0;)
    done = unmount(place(i), 0);
  return done;
}

Result<void> loop_over_tree(std::size_t count) {
  Result<void> done = loop_over(count);
  return done ? unmount(kPoint, 0) : done;
}

Result<void> loop_over_stack(std::size_t count) {
  Result<void> done;
  for (std::size_t i = 0; done && i < count; ++i)
    done = unmount(kPoint, 0);
  return done;
}

// Commands are shown by `shown`, which leaves out hundreds of targets.
Planned plan_of(const std::string& unmoor, const char* name, const std::string& description, const Step& mounts,
                const Arguments& arguments, const std::string& shown, const Side& bare) {
  Planned plan{name, description, MountNamespace::kPrivate, {}};
  plan.make = [=]() -> Result<Scenario> {
    Scenario scenario{plan.name, plan.description, 5, {}};
    Arguments theirs{"umount"};
    theirs.insert(theirs.end(), arguments.begin(), arguments.end());
    Arguments ours = theirs;
    ours.insert(ours.begin(), unmoor);
    Side reference;
    reference.command = "umount " + shown;
    reference.role = Role::kReference;
    reference.run = [theirs] { return measure::time_command(theirs); };
    Side contender;
    contender.command = "unmoor umount " + shown;
    contender.run = [ours] { return measure::time_command(ours); };
    scenario.sides = {reference, contender, bare};
    for (Side& side : scenario.sides) {
      side.prepare = mounts;
      side.clean_up = clean_up;
    }
    return scenario;
  };
  return plan;
}

}  // namespace

std::vector<Planned> mass_plans(const std::string& unmoor, std::size_t mounts) {
  Arguments each;
  for (std::size_t i = 0; i < mounts; ++i)
    each.push_back(place(i));
  // A stack is named by one word, again and again; deep enough to show what a stack costs.
  const std::size_t depth = std::min<std::size_t>(mounts, 200);
  const Arguments again(depth, "mnt");
  const Step flat = [mounts] { return mount_side_by_side(mounts); };
  return {
      plan_of(unmoor, "recursive", fmt::format("one tree of {} tmpfs", mounts), flat, {"-R", "mnt"}, "-R mnt",
              in_process("umount2() each", [mounts] { return loop_over_tree(mounts); })),
      plan_of(unmoor, "recursive-l", fmt::format("one tree of {} tmpfs, lazily", mounts), flat, {"-R", "-l", "mnt"},
              "-R -l mnt", in_process("one umount2(MNT_DETACH)", [] { return unmount("mnt", MNT_DETACH); })),
      plan_of(unmoor, "many", fmt::format("{} tmpfs named in one call", mounts), flat, each, "mnt/0 mnt/1 ...",
              in_process("umount2() each", [mounts] { return loop_over(mounts); })),
      plan_of(
          unmoor, "peers", fmt::format("one tree of {} tmpfs whose top has a peer", mounts),
          [mounts] { return mount_peers(mounts); }, {"-R", "mnt"}, "-R mnt",
          in_process("umount2() each", [mounts] { return loop_over_tree(mounts); })),
      plan_of(
          unmoor, "stack", fmt::format("{} tmpfs on one mount point", depth), [depth] { return mount_stack(depth); },
          again, "mnt mnt ...", in_process("umount2() each", [depth] { return loop_over_stack(depth); })),
  };
}

}  // namespace unmoor::cli::bench
