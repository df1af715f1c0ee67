// SPDX-License-Identifier: MIT
#include "cli/bench/call.h"

#include <cerrno>
#include <chrono>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <sys/mman.h>
#include <sys/mount.h>

#include <fmt/format.h>

#include "detach/detach.h"

namespace unmoor::cli::bench {
namespace {

using measure::MountNamespace;
using measure::Role;
using measure::Scenario;
using measure::Side;

constexpr const char* kPoint = "mnt";

Result<void> mount_tmpfs() {
  if (mount("tmpfs", kPoint, "tmpfs", 0, nullptr) != 0) return fail(errno, "mount tmpfs", kPoint);
  return {};
}

Result<double> seconds_of(const std::function<Result<void>()>& call) {
  const auto start = std::chrono::steady_clock::now();
  const Result<void> done = call();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  if (!done) return std::unexpected(done.error());
  return took.count();
}

Result<void> detach_directly() {
  if (umount2(kPoint, MNT_DETACH) != 0) return fail(errno, "umount2", kPoint);
  return {};
}

// Whatever it decides: a call that was made directly after all, because no helper was ready in time, counts as well.
Result<void> detach_by_the_library() {
  const Result<detach::Outcome> outcome =
      detach::detach_one(kernel::SystemCalls::real(), kPoint, MNT_DETACH, {.defer = detach::Defer::kAlways});
  if (!outcome) return std::unexpected(outcome.error());
  return {};
}

// In bytes; 0 when /proc does not say.
std::uint64_t memory_available() {
  std::ifstream file("/proc/meminfo");
  for (std::string word; file >> word;) {
    std::uint64_t kilobytes = 0;
    if (word == "MemAvailable:" && file >> kilobytes) return kilobytes << 10;
  }
  return 0;
}

// Memory that is there, as that of a large daemon; gone with the scenario, and so are the helpers.
class Resident {
 public:
  static Result<std::shared_ptr<Resident>> make(std::size_t bytes) {
    // Somebody else would be killed for it.
    if (bytes > memory_available() / 2)
      return fail(ENOMEM, "take", fmt::format("{} MB, which is more than half of what is available", bytes >> 20));
    void* const memory = bytes == 0 ? nullptr
                                    : mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return fail(errno, "mmap", fmt::format("{} MB", bytes >> 20));
    return std::shared_ptr<Resident>(new Resident(memory, bytes));
  }
  Resident(const Resident&) = delete;
  Resident& operator=(const Resident&) = delete;
  ~Resident() {
    detach::reap_helpers();
    if (memory_ != nullptr) munmap(memory_, bytes_);
  }

 private:
  Resident(void* memory, std::size_t bytes) : memory_(memory), bytes_(bytes) {}
  void* memory_;
  std::size_t bytes_;
};

Planned call_plan(const char* name, std::string description, std::uint64_t megabytes) {
  Planned plan{name, std::move(description), MountNamespace::kPrivate, {}};
  plan.make = [plan, megabytes]() -> Result<Scenario> {
    const Result<std::shared_ptr<Resident>> resident = Resident::make(megabytes << 20);
    if (!resident) return std::unexpected(resident.error());
    Scenario scenario{plan.name, plan.description, 200, {}};
    const auto side = [&](Role role, const char* shown, Result<void> (*call)()) {
      Side one;
      one.role = role;
      one.command = shown;
      one.prepare = mount_tmpfs;
      one.run = [call, resident = *resident] { return seconds_of(call); };
      one.clean_up = []() -> Result<void> {
        umount2(kPoint, MNT_DETACH | UMOUNT_NOFOLLOW);  // is there only if the call failed
        return {};
      };
      scenario.sides.push_back(std::move(one));
    };
    side(Role::kReference, "umount2(MNT_DETACH)", detach_directly);
    side(Role::kContender, "unmoor_detach(), always", detach_by_the_library);
    return scenario;
  };
  return plan;
}

}  // namespace

std::vector<Planned> call_plans(std::uint64_t resident_megabytes) {
  return {
      call_plan("call", "one call that detaches a tmpfs", 0),
      call_plan("call-resident", fmt::format("the same with {} MB in memory", resident_megabytes), resident_megabytes)};
}

}  // namespace unmoor::cli::bench
