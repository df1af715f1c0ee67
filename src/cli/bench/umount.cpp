// SPDX-License-Identifier: MIT
// `unmoor bench umount`: whole commands, util-linux's beside ours.
#include <array>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <memory>
#include <sys/mount.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/bench/benches.h"
#include "cli/bench/call.h"
#include "cli/bench/mass.h"
#include "cli/bench/own_calls.h"
#include "kernel/unique_fd.h"
#include "measure/command.h"
#include "measure/loop_device.h"

namespace unmoor::cli::bench {
namespace {

using kernel::UniqueFd;
using measure::Arguments;
using measure::LoopDevice;
using measure::MountNamespace;
using measure::Role;
using measure::Scenario;
using measure::Side;

// A side that runs a program: `shown` is what a person would type, `program` the path that is run for its first word.
Side command_side(Role role, const std::string& program, const Arguments& arguments, const std::string& shown) {
  Arguments command{program};
  command.insert(command.end(), arguments.begin(), arguments.end());
  Side side;
  side.command = fmt::format("{} {}", shown, fmt::join(arguments, " "));
  side.role = role;
  side.run = [command] { return measure::time_command(command); };
  return side;
}

Side true_side() {
  Side side;
  side.command = "/bin/true";
  side.role = Role::kFloor;
  side.run = [] { return measure::time_command({"/bin/true"}); };
  return side;
}

Scenario three_sides(const Planned& plan, const std::string& unmoor, const Arguments& theirs, const Arguments& ours) {
  Scenario scenario{plan.name, plan.description, 10, {}};
  Arguments our_words{"umount"};
  our_words.insert(our_words.end(), ours.begin(), ours.end());
  scenario.sides = {command_side(Role::kReference, "umount", theirs, "umount"),
                    command_side(Role::kContender, unmoor, our_words, "unmoor"), true_side()};
  return scenario;
}

Planned tmpfs_plan(const std::string& unmoor, const char* name, const char* description, MountNamespace where,
                   const Arguments& theirs, const Arguments& ours) {
  Planned plan{name, description, where, {}};
  plan.make = [plan, unmoor, theirs, ours]() -> Result<Scenario> {
    Scenario scenario = three_sides(plan, unmoor, theirs, ours);
    for (Side& side : scenario.sides) {
      if (side.role == Role::kFloor) continue;
      side.prepare = [] { return mount_tmpfs(kPoint); };
      side.clean_up = [] { return leave_nothing_mounted(kPoint); };
    }
    return scenario;
  };
  return plan;
}

// Viro's request in the mails: with a holder, the filesystem's shutdown is not in the figure.
Planned held_plan(const std::string& unmoor) {
  Planned plan{"held", "lazy umount of a tmpfs while a file in it is open", MountNamespace::kOwn, {}};
  plan.make = [plan, unmoor]() -> Result<Scenario> {
    Scenario scenario = three_sides(plan, unmoor, {"-l", kPoint}, {"-l", kPoint});
    const auto holder = std::make_shared<UniqueFd>();
    for (Side& side : scenario.sides) {
      if (side.role == Role::kFloor) continue;
      side.prepare = [holder]() -> Result<void> {
        if (Result<void> mounted = mount_tmpfs(kPoint); !mounted) return mounted;
        holder->reset(open("mnt/held", O_CREAT | O_RDWR | O_CLOEXEC, 0600));
        if (!*holder) return fail(errno, "open", "mnt/held");
        return {};
      };
      side.clean_up = [holder] {
        holder->reset();
        return leave_nothing_mounted(kPoint);
      };
    }
    return scenario;
  };
  return plan;
}

Result<void> write_dirty(const char* path, std::uint64_t megabytes) {
  const UniqueFd file(open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600));
  if (!file) return fail(errno, "open", path);
  const std::vector<char> block(1 << 20, 'u');
  for (std::uint64_t i = 0; i < megabytes; ++i) {
    if (write(file.get(), block.data(), block.size()) != static_cast<ssize_t>(block.size()))
      return fail(errno != 0 ? errno : ENOSPC, "write", path);
  }
  return {};
}

Planned dirty_plan(const std::string& unmoor, std::uint64_t megabytes) {
  Planned plan{"dirty-ext4",
               fmt::format("lazy umount of ext4 on a loop device with {} MB not yet written", megabytes),
               MountNamespace::kPrivate,
               {}};
  plan.make = [plan, unmoor, megabytes]() -> Result<Scenario> {
    constexpr std::uint64_t kMegabyte = 1 << 20;
    Result<LoopDevice> made = LoopDevice::make((megabytes + megabytes / 4 + 128) * kMegabyte);
    if (!made) return std::unexpected(made.error());
    const auto loop = std::make_shared<LoopDevice>(std::move(*made));
    // Without the options the kernel goes on writing inode tables in the background, into the figures.
    const Result<void> formatted =
        measure::run_command({"mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", loop->path()});
    if (!formatted) return std::unexpected(formatted.error());
    Scenario scenario = three_sides(plan, unmoor, {"-l", kPoint}, {"-l", "--defer=always", kPoint});
    scenario.runs = 5;
    for (Side& side : scenario.sides) {
      if (side.role == Role::kFloor) continue;
      side.prepare = [loop, megabytes]() -> Result<void> {
        if (mount(loop->path().c_str(), kPoint, "ext4", 0, nullptr) != 0) return fail(errno, "mount ext4", kPoint);
        return write_dirty("mnt/dirty", megabytes);
      };
      side.clean_up = [loop] {
        (void)leave_nothing_mounted(kPoint);
        return loop->wait_until_free(std::chrono::minutes(5));
      };
    }
    return scenario;
  };
  return plan;
}

// What the kernel's own attempt broke: a device that is used again as soon as the call has returned. No wait between
// two runs; where mkfs(8) or mount(2) is refused, so is the measurement.
Planned reuse_plan(const std::string& unmoor) {
  Planned plan{"reuse",
               "lazy umount of ext4 on a loop device that is formatted and mounted again at once",
               MountNamespace::kOwn,
               {}};
  plan.make = [plan, unmoor]() -> Result<Scenario> {
    Result<LoopDevice> made = LoopDevice::make(64 << 20);
    if (!made) return std::unexpected(made.error());
    const auto loop = std::make_shared<LoopDevice>(std::move(*made));
    Scenario scenario = three_sides(plan, unmoor, {"-l", kPoint}, {"-l", kPoint});
    for (Side& side : scenario.sides) {
      if (side.role == Role::kFloor) continue;
      side.prepare = [loop]() -> Result<void> {
        if (Result<void> formatted = measure::run_command({"mkfs.ext4", "-q", "-F", loop->path()}); !formatted)
          return formatted;
        if (mount(loop->path().c_str(), kPoint, "ext4", 0, nullptr) != 0) return fail(errno, "mount ext4", kPoint);
        return write_dirty("mnt/touched", 1);
      };
      side.clean_up = [] { return leave_nothing_mounted(kPoint); };
    }
    return scenario;
  };
  return plan;
}

struct Options {
  std::uint64_t dirty_megabytes = 800;
  std::uint64_t resident_megabytes = 4096;
  std::size_t mounts = 500;
};

}  // namespace

std::function<std::vector<Planned>(const std::string& unmoor)> set_up_umount(CLI::App& command) {
  const auto options = std::make_shared<Options>();
  command.add_option("--dirty", options->dirty_megabytes, "megabytes not yet written, for dirty-ext4")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 20));
  command.add_option("--resident", options->resident_megabytes, "megabytes in memory, for call-resident")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 20));
  command.add_option("--mounts", options->mounts, "how many mounts, for the scenarios with many")
      ->capture_default_str()
      ->check(CLI::Range(2, 90000));
  return [options](const std::string& unmoor) {
    std::vector<Planned> plans = {
        tmpfs_plan(unmoor, "umount", "umount of a tmpfs", MountNamespace::kOwn, {kPoint}, {kPoint}),
        tmpfs_plan(unmoor, "umount-l", "lazy umount of a tmpfs", MountNamespace::kOwn, {"-l", kPoint}, {"-l", kPoint}),
        held_plan(unmoor),
        tmpfs_plan(unmoor, "elsewhere", "lazy umount of a tmpfs, as `exec` does it", MountNamespace::kPrivate,
                   {"-l", kPoint}, {"-l", "--defer=elsewhere", kPoint}),
        dirty_plan(unmoor, options->dirty_megabytes),
        reuse_plan(unmoor),
    };
    for (Planned& plan : call_plans(options->resident_megabytes))
      plans.push_back(std::move(plan));
    for (Planned& plan : mass_plans(unmoor, options->mounts))
      plans.push_back(std::move(plan));
    return plans;
  };
}

}  // namespace unmoor::cli::bench
