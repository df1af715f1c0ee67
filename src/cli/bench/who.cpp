// SPDX-License-Identifier: MIT
// `unmoor bench who`: finding holders among many processes, which kinds are found, and how soon a wait ends.
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <memory>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/bench/benches.h"
#include "cli/bench/crowd.h"
#include "cli/bench/kinds.h"
#include "cli/bench/latency.h"
#include "cli/bench/own_calls.h"
#include "kernel/unique_fd.h"
#include "measure/command.h"

namespace unmoor::cli::bench {
namespace {

using measure::Arguments;
using measure::MountNamespace;
using measure::Role;
using measure::Scenario;
using measure::Side;

struct Options {
  std::size_t processes = 2000;
  std::size_t descriptors = 50;
  std::uint64_t dirty_megabytes = 16;
};

// A tmpfs with one holder, this program, in the middle of a crowd that holds something else.
class HeldMount {
 public:
  static Result<std::shared_ptr<HeldMount>> make(const Options& options) {
    if (mkdir("crowd", 0755) != 0 && errno != EEXIST) return fail(errno, "mkdir", "crowd");
    Result<Crowd> crowd = Crowd::make(options.processes, options.descriptors, "crowd");
    if (!crowd) return std::unexpected(crowd.error());
    auto held = std::make_shared<HeldMount>(std::move(*crowd));
    if (const Result<void> mounted = mount_tmpfs(kPoint); !mounted) return std::unexpected(mounted.error());
    held->holder_.reset(open("mnt/held", O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!held->holder_) return fail(errno, "open", "mnt/held");
    return held;
  }
  explicit HeldMount(Crowd crowd) : crowd_(std::move(crowd)) {}
  HeldMount(const HeldMount&) = delete;
  HeldMount& operator=(const HeldMount&) = delete;
  ~HeldMount() {
    holder_.reset();
    umount2("mnt", MNT_DETACH);
  }

 private:
  Crowd crowd_;
  kernel::UniqueFd holder_;
};

Side command_side(Role role, const Arguments& command, const char* shown, const std::shared_ptr<HeldMount>& held) {
  Side side;
  side.command = shown;
  side.role = role;
  side.run = [command, held] { return measure::time_command(command); };
  return side;
}

Planned crowd_plan(const std::string& unmoor, const Options& options) {
  Planned plan{
      "crowd",
      fmt::format("one holder among {} processes with {} descriptors each", options.processes, options.descriptors),
      MountNamespace::kPrivate,
      {}};
  plan.make = [plan, unmoor, options]() -> Result<Scenario> {
    const Result<std::shared_ptr<HeldMount>> held = HeldMount::make(options);
    if (!held) return std::unexpected(held.error());
    Scenario scenario{plan.name, plan.description, 10, {}};
    // lsof takes a mount point for one only by the name that the mount table has.
    char* const here = get_current_dir_name();
    const std::string point = std::string(here) + "/mnt";
    std::free(here);
    scenario.sides = {command_side(Role::kReference, {"fuser", "-vm", point}, "fuser -vm MOUNT", *held),
                      command_side(Role::kContender, {"lsof", point}, "lsof MOUNT", *held),
                      command_side(Role::kContender, {unmoor, "who", point}, "unmoor who MOUNT", *held)};
    return scenario;
  };
  return plan;
}

Planned wait_plan(const std::string& unmoor, const char* name, const std::string& description,
                  std::uint64_t megabytes) {
  Planned plan{name, description, MountNamespace::kPrivate, {}};
  plan.make = [plan, unmoor, megabytes]() -> Result<Scenario> {
    const Result<std::shared_ptr<WaitForDevice>> device = WaitForDevice::make(unmoor, megabytes << 20);
    if (!device) return std::unexpected(device.error());
    Scenario scenario{plan.name, plan.description, 100, {}};
    Side side;
    side.command = "unmoor wait DEVICE, after the device was free";
    side.role = Role::kReference;
    side.prepare = [device = *device] { return device->prepare(); };
    side.run = [device = *device] { return device->run(); };
    side.clean_up = [device = *device] { return device->clean_up(); };
    scenario.sides = {side};
    return scenario;
  };
  return plan;
}

}  // namespace

std::function<std::vector<Planned>(const std::string& unmoor)> set_up_who(CLI::App& command) {
  const auto options = std::make_shared<Options>();
  command.add_option("--processes", options->processes, "how many processes, for crowd")
      ->capture_default_str()
      ->check(CLI::Range(1, 100000));
  command.add_option("--descriptors", options->descriptors, "of each of them")
      ->capture_default_str()
      ->check(CLI::Range(0, 100000));
  command.add_option("--dirty", options->dirty_megabytes, "megabytes not yet written, for wait-dirty")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 16));
  return [options](const std::string& unmoor) {
    Planned kinds{"kinds", "each kind of holder, planted alone: who finds it", MountNamespace::kPrivate, {}};
    kinds.look = [unmoor] { return plant_each_kind(unmoor); };
    return std::vector<Planned>{
        crowd_plan(unmoor, *options), kinds, wait_plan(unmoor, "wait", "the last holder of a detached ext4 lets go", 0),
        wait_plan(unmoor, "wait-dirty", fmt::format("the same with {} MB not yet written", options->dirty_megabytes),
                  options->dirty_megabytes)};
  };
}

}  // namespace unmoor::cli::bench
