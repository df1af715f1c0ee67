// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include "cli/doctor/facts.h"
#include "kernel/dirty_memory.h"
#include "kernel/fuse_connections.h"
#include "kernel/unique_fd.h"

namespace unmoor::cli::doctor {
namespace {

using kernel::SystemCalls;
using Clock = std::chrono::steady_clock;
using Microseconds = std::chrono::duration<double, std::micro>;

constexpr int kRounds = 5;
// A request that is still there at every look has waited for (kLooks - 1) * kBetweenLooks.
constexpr int kLooks = 6;
constexpr std::chrono::milliseconds kBetweenLooks{100};

// The doctor's own place: a tmpfs over a directory that every system has, in a mount namespace that nobody else sees.
constexpr const char* kPlace = "/tmp";
constexpr const char* kTarget = "/tmp/target";
constexpr const char* kFusectl = "/tmp/fusectl";
constexpr const char* kDebugfs = "/tmp/debugfs";

std::string refused(const char* what) {
  return std::string(what) + ": " + std::strerror(errno);
}

bool write_file(const char* path, const std::string& text) {
  const kernel::UniqueFd fd(::open(path, O_WRONLY | O_CLOEXEC));
  return fd && ::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

// Empty when done; else what was refused.
std::string enter_own_place() {
  const uid_t uid = ::geteuid();
  const gid_t gid = ::getegid();
  if (::unshare(CLONE_NEWNS) != 0) {
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return refused("unshare");
    if (!write_file("/proc/self/setgroups", "deny") ||
        !write_file("/proc/self/uid_map", "0 " + std::to_string(uid) + " 1") ||
        !write_file("/proc/self/gid_map", "0 " + std::to_string(gid) + " 1"))
      return refused("uid_map");
  }
  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return refused("mount --make-rprivate /");
  if (::mount("doctor", kPlace, "tmpfs", 0, "mode=755") != 0) return refused("mount tmpfs");
  for (const char* const directory : {kTarget, kFusectl, kDebugfs}) {
    if (::mkdir(directory, 0755) != 0) return refused("mkdir");
  }
  return {};
}

struct Times {
  double median;
  double fastest;
};

Result<Times> time_unmount(int flags) {
  std::array<double, kRounds> times{};
  for (double& time : times) {
    if (::mount("doctor", kTarget, "tmpfs", 0, nullptr) != 0) return fail(errno, "mount", kTarget);
    const auto start = Clock::now();
    if (::umount2(kTarget, flags) != 0) return fail(errno, "umount2", kTarget);
    time = Microseconds(Clock::now() - start).count();
  }
  std::ranges::sort(times);
  return Times{.median = times[kRounds / 2], .fastest = times[0]};
}

void measure_cost(Facts& facts) {
  const Result<Times> plain = time_unmount(0);
  const Result<Times> lazy = time_unmount(MNT_DETACH);
  if (plain && lazy) {
    facts.cost = Cost{
        .plain = plain->median, .lazy = lazy->median, .fastest_plain = plain->fastest, .fastest_lazy = lazy->fastest};
  } else {
    const Error& error = plain ? lazy.error() : plain.error();
    facts.cost_refusal = std::string(error.doing) + ": " + std::strerror(error.code);
  }
}

// The system's own mount of a pseudo filesystem, else one of ours in the private namespace.
const char* pseudo(const SystemCalls& calls, const char* type, const char* usual, const char* sign, const char* own) {
  struct ::statx facts{};
  if (calls.statx(AT_FDCWD, sign, AT_STATX_DONT_SYNC, STATX_TYPE, &facts) == 0) return usual;
  return ::mount(type, own, type, 0, nullptr) == 0 ? own : usual;
}

void look_at_fuse(const SystemCalls& calls, const kernel::MountTable& table, Facts& facts) {
  std::vector<StuckFuse> fuse;
  for (const kernel::MountEntry& entry : table.entries()) {
    if (entry.type == "fuse" || entry.type == "fuseblk" || entry.type.starts_with("fuse."))
      fuse.push_back({std::string(entry.mount_point), entry.device.minor, UINT64_MAX});
  }
  if (fuse.empty()) return;
  const char* const usual = "/sys/fs/fuse/connections";
  const std::string sign = std::string(usual) + "/" + std::to_string(fuse.front().connection);
  const char* const directory = pseudo(calls, "fusectl", usual, sign.c_str(), kFusectl);
  for (int look = 0; look < kLooks; ++look) {
    if (look > 0) std::this_thread::sleep_for(kBetweenLooks);
    for (StuckFuse& connection : fuse) {
      const auto waiting = kernel::fuse_requests_waiting(calls, directory, connection.connection);
      if (look == 0 && !waiting) ++facts.fuse_unreadable;
      connection.waiting = std::min(connection.waiting, waiting.value_or(0));
    }
  }
  std::erase_if(fuse, [](const StuckFuse& connection) { return connection.waiting == 0; });
  facts.stuck = std::move(fuse);
}

// The mount that `path` leads to: the one with the longest mount point that is a prefix of it, the latest of equals.
const kernel::MountEntry* mount_of(const kernel::MountTable& table, std::string_view path) {
  const kernel::MountEntry* best = nullptr;
  for (const kernel::MountEntry& entry : table.entries()) {
    const std::string_view point = entry.mount_point;
    const bool above = point == "/" || path == point || (path.starts_with(point) && path[point.size()] == '/');
    if (above && (best == nullptr || point.size() >= best->mount_point.size())) best = &entry;
  }
  return best;
}

void look_at_dirty(const SystemCalls& calls, const kernel::MountTable& table, Facts& facts) {
  facts.dirty = kernel::dirty_bytes(calls);
  if (facts.overlays.empty()) return;
  const char* const debugfs = pseudo(calls, "debugfs", "/sys/kernel/debug", "/sys/kernel/debug/bdi", kDebugfs);
  for (SyncingOverlay& overlay : facts.overlays) {
    const kernel::MountEntry* const under = mount_of(table, overlay.upper);
    if (under != nullptr) overlay.dirty = kernel::dirty_bytes_of(calls, debugfs, under->device);
  }
}

}  // namespace

Result<Facts> gather(const SystemCalls& calls) {
  Facts facts;
  const kernel::UniqueFd root(static_cast<int>(calls.open("/", O_PATH | O_DIRECTORY)));
  facts.system = kernel::read_system_facts(calls, root.get());
  const auto start = Clock::now();
  const Result<kernel::MountTable> table = kernel::MountTable::read(calls);
  facts.table_read = Microseconds(Clock::now() - start).count();
  if (!table) return std::unexpected(table.error());
  read_table_facts(*table, facts);
  facts.cost_refusal = enter_own_place();
  if (facts.cost_refusal.empty()) measure_cost(facts);
  look_at_fuse(calls, *table, facts);
  look_at_dirty(calls, *table, facts);
  return facts;
}

}  // namespace unmoor::cli::doctor
