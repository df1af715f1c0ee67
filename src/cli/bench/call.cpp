// SPDX-License-Identifier: MIT
#include "cli/bench/call.h"

#include <cerrno>
#include <memory>
#include <string>
#include <sys/mman.h>
#include <sys/mount.h>

#include <fmt/format.h>

#include "cli/bench/own_calls.h"
#include "detach/detach.h"
#include "kernel/memory_fields.h"

namespace unmoor::cli::bench {
namespace {

using measure::MountNamespace;
using measure::Role;
using measure::Scenario;
using measure::Side;

// Whatever it decides: a call that was made directly after all, because no helper was ready in time, counts as well.
Result<void> detach_by_the_library() {
  const Result<detach::Outcome> outcome =
      detach::detach_one(kernel::SystemCalls::real(), kPoint, MNT_DETACH, {.defer = detach::Defer::kAlways});
  if (!outcome) return std::unexpected(outcome.error());
  return {};
}

// Memory that is there, as that of a large daemon; gone with the scenario, and so are the helpers.
class Resident {
 public:
  static Result<std::shared_ptr<Resident>> make(std::size_t bytes) {
    // Somebody else would be killed for it.
    const auto available = kernel::sum_of_fields(kernel::SystemCalls::real(), "/proc/meminfo", {"MemAvailable"});
    if (bytes > available.value_or(0) / 2)
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
    scenario.sides = {in_process("umount2(MNT_DETACH)", [] { return unmount(kPoint, MNT_DETACH); }),
                      in_process("unmoor_detach(), always", detach_by_the_library)};
    scenario.sides.front().role = Role::kReference;
    for (Side& side : scenario.sides) {
      side.prepare = [resident = *resident] { return mount_tmpfs(kPoint); };  // it is there as long as the scenario
      side.clean_up = [] { return leave_nothing_mounted(kPoint); };
    }
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
