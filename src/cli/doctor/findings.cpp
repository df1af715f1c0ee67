// SPDX-License-Identifier: MIT
#include "cli/doctor/findings.h"

#include <algorithm>

#include <fmt/format.h>

namespace unmoor::cli::doctor {
namespace {

// An expedited grace period costs some ten microseconds, a normal one at least a few milliseconds: between the two lies
// this, with room for a busy or emulated machine on either side.
constexpr double kSlowUnmount = 2000;
constexpr std::size_t kManyMounts = 1000;
constexpr std::size_t kLargeGroup = 500;
constexpr std::uint64_t kMuchDirty = 64ULL << 20;

bool parameter_given(const Facts& facts, std::string_view name) {
  return std::ranges::any_of(facts.system.rcu_parameters, [&](const std::string& parameter) {
    return parameter.starts_with(name) && !parameter.ends_with("=0");
  });
}

std::string why_grace_periods_are_slow(const Facts& facts) {
  if (facts.system.rcu_normal == 1) {
    if (facts.system.preempt_rt)
      return "This is a PREEMPT_RT kernel: once it has booted it sets rcu_normal, which turns the expedited grace "
             "period "
             "that an unmount asks for into a normal one.";
    if (parameter_given(facts, "rcupdate.rcu_normal"))
      return "The boot parameters set rcu_normal, which turns the expedited grace period that an unmount asks for into "
             "a "
             "normal one.";
    return "/sys/kernel/rcu_normal is 1: somebody turned the expedited grace period that an unmount asks for into a "
           "normal one.";
  }
  return "Grace periods are expedited here, so the wait comes from processors that answer late: a busy host, virtual "
         "processors that do not run, or very many of them.";
}

void slow_grace_period(const Facts& facts, std::vector<Finding>& findings) {
  // Both kinds wait for the same grace periods: if either was fast once, they are not what is slow.
  const bool measured_slow = facts.cost && std::min(facts.cost->fastest_plain, facts.cost->fastest_lazy) > kSlowUnmount;
  const bool surely_slow = !facts.cost && facts.system.rcu_normal == 1;
  if (!measured_slow && !surely_slow) return;
  Finding finding;
  finding.id = "slow-grace-period";
  finding.what = facts.cost ? fmt::format(
                                  "Every unmount waits for an RCU grace period: umount {}, umount -l {} "
                                  "(an empty tmpfs, median).",
                                  duration_text(facts.cost->plain), duration_text(facts.cost->lazy))
                            : "Every unmount waits for a normal RCU grace period: milliseconds, not microseconds.";
  finding.why = why_grace_periods_are_slow(facts);
  finding.helps =
      "`unmoor umount -l` and, for other programs, `unmoor exec -- PROGRAM` return as soon as the mount is "
      "detached; `unmoor umount` of many mounts at once lets them share a grace period.";
  finding.costs = "nothing that anybody relies on: where returning early could be noticed, they wait";
  if (facts.system.rcu_normal == 1) {
    finding.helps += " Or, for the whole machine: echo 0 >/sys/kernel/rcu_normal";
    finding.costs +=
        facts.system.preempt_rt
            ? "; rcu_normal=0 interrupts every processor for each grace period, the latency that PREEMPT_RT is "
              "chosen to avoid"
            : "; rcu_normal=0 interrupts every processor for each grace period";
    if (!facts.system.isolated_cpus.empty() || !facts.system.nohz_full_cpus.empty()) {
      finding.costs +=
          fmt::format(", the isolated ones ({}) too",
                      facts.system.isolated_cpus.empty() ? facts.system.nohz_full_cpus : facts.system.isolated_cpus);
    }
  }
  findings.push_back(std::move(finding));
}

void expedited_in_vain(const Facts& facts, std::vector<Finding>& findings) {
  if (facts.system.rcu_normal != 1) return;
  if (facts.system.rcu_expedited.value_or(0) == 0 && !parameter_given(facts, "rcupdate.rcu_expedited")) return;
  findings.push_back({"expedited-in-vain", "rcu_expedited is set and does nothing.",
                      facts.system.preempt_rt ? "rcu_normal wins over rcu_expedited, and a PREEMPT_RT kernel sets "
                                                "rcu_normal once it has booted, unless the boot "
                                                "parameter rcupdate.rcu_normal_after_boot=0 forbids it; only kernels "
                                                "built with NO_HZ_FULL know that parameter."
                                              : "rcu_normal wins over rcu_expedited.",
                      "remove the setting, or make it count: echo 0 >/sys/kernel/rcu_normal", "as above"});
}

void stuck_fuse(const Facts& facts, std::vector<Finding>& findings) {
  for (const StuckFuse& stuck : facts.stuck) {
    findings.push_back(
        {"hung-fuse",
         fmt::format("The FUSE server of {} (connection {}) does not answer: {} request{} waited all the time.",
                     stuck.mount_point, stuck.connection, stuck.waiting, stuck.waiting == 1 ? "" : "s"),
         "Whoever touches that mount waits too: df, lsof, stat, and a plain umount. (Seen in the fusectl filesystem, "
         "without "
         "touching the mount.)",
         fmt::format("`unmoor umount -f {}`, or end its requests: echo 1 >/sys/fs/fuse/connections/{}/abort",
                     stuck.mount_point, stuck.connection),
         "what waits gets an error, and what the server had not written is lost"});
  }
}

void dirty_overlay(const Facts& facts, std::vector<Finding>& findings) {
  const SyncingOverlay* worst = nullptr;
  for (const SyncingOverlay& overlay : facts.overlays) {
    if (worst == nullptr || overlay.dirty.value_or(0) > worst->dirty.value_or(0)) worst = &overlay;
  }
  if (worst == nullptr) return;
  const std::uint64_t dirty = worst->dirty ? *worst->dirty : facts.dirty.value_or(0);
  if (dirty < kMuchDirty) return;
  findings.push_back(
      {"dirty-behind-overlay",
       fmt::format("{} of unwritten data {} the overlay {}: its unmount writes all of it out first.", size_text(dirty),
                   worst->dirty ? "lie behind" : "are somewhere on this machine, perhaps behind", worst->mount_point),
       fmt::format(
           "The unmount of an overlay syncs the whole filesystem that its upper directory is on ({}), whoever wrote "
           "there.",
           worst->upper),
       fmt::format("mount it with `volatile`; or `unmoor umount -l --defer=always {}`", worst->mount_point),
       "volatile: after a crash that overlay must be thrown away; --defer=always: the data are still being written "
       "when the "
       "call returns (`unmoor wait` tells when they are)"});
}

void copied_root(const Facts& facts, std::vector<Finding>& findings) {
  for (const RootCopy& copy : facts.root_copies) {
    findings.push_back(
        {"shared-copy-of-root",
         fmt::format("{} is a shared copy of /: `umount -l` or `umount -R` of it takes {} mount{} outside of it along.",
                     copy.mount_point, copy.loses, copy.loses == 1 ? "" : "s"),
         "Both are in one peer group, so an unmount below one happens below the other.",
         fmt::format("mount --make-rslave {}", copy.mount_point), "mounts made below it no longer appear below /"});
  }
}

void many_mounts(const Facts& facts, std::vector<Finding>& findings) {
  if (facts.mounts >= kManyMounts) {
    findings.push_back(
        {"many-mounts",
         fmt::format("{} mounts in this namespace; one read of the mount table takes {}.", facts.mounts,
                     duration_text(facts.table_read)),
         "umount(8) reads the table at every call, `umount -R` once for each mount, systemd at every change; "
         "a new mount namespace copies all of it.",
         "`unmoor umount` reads it once for a whole job; better: fewer mounts, or namespaces made of fewer",
         "nothing"});
  }
  if (facts.largest_group >= kLargeGroup) {
    findings.push_back(
        {"large-peer-group",
         fmt::format("Peer group {} has {} members here: one mount or unmount below one of them happens below "
                     "all.",
                     facts.largest_group_id, facts.largest_group),
         "Shared mounts pass on what happens below them.",
         "mount --make-private (or --make-slave) what need not pass it on",
         "mounts made below one no longer appear below the others"});
  }
}

}  // namespace

std::string duration_text(double microseconds) {
  if (microseconds < 1000) return fmt::format("{:.0f} us", microseconds);
  if (microseconds < 10000) return fmt::format("{:.1f} ms", microseconds / 1000);
  return fmt::format("{:.0f} ms", microseconds / 1000);
}

std::string size_text(std::uint64_t bytes) {
  return fmt::format("{} MiB", bytes >> 20);
}

std::vector<Finding> diagnose(const Facts& facts) {
  std::vector<Finding> findings;
  stuck_fuse(facts, findings);
  copied_root(facts, findings);
  slow_grace_period(facts, findings);
  expedited_in_vain(facts, findings);
  dirty_overlay(facts, findings);
  many_mounts(facts, findings);
  return findings;
}

}  // namespace unmoor::cli::doctor
