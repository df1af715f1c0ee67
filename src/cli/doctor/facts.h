// SPDX-License-Identifier: MIT
// What decides the cost of an unmount here, looked at without changing anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernel/mount_table.h"
#include "kernel/system_calls.h"
#include "kernel/system_facts.h"

namespace unmoor::cli::doctor {

// A few unmounts of an empty tmpfs, in microseconds. Medians, and the fastest: what waits for a normal grace period
// waits every time, so only a slow fastest one is a finding, however busy the machine is.
struct Cost {
  double plain = 0;
  double lazy = 0;
  double fastest_plain = plain;
  double fastest_lazy = lazy;
};

struct StuckFuse {
  std::string mount_point;
  std::uint32_t connection = 0;
  std::uint64_t waiting = 0;  // requests; at every look
};

// An overlay whose unmount writes out the whole filesystem that its upper directory is on.
struct SyncingOverlay {
  std::string mount_point;
  std::string upper;                   // the directory, as it was named at the mount
  std::optional<std::uint64_t> dirty;  // bytes behind that filesystem, where the kernel tells
};

// A peer of the root mount elsewhere: taking it down recursively or lazily takes mounts of / with it.
struct RootCopy {
  std::string mount_point;
  std::size_t loses = 0;  // mounts outside of it that would go too
};

struct Facts {
  kernel::SystemFacts system;
  std::optional<Cost> cost;
  std::string cost_refusal;  // why there is no cost

  std::size_t mounts = 0;
  double table_read = 0;  // microseconds for one read of the mount table
  std::size_t largest_group = 0;
  int largest_group_id = 0;
  bool root_shared = false;
  std::vector<RootCopy> root_copies;

  std::size_t fuse_mounts = 0;
  std::size_t fuse_unreadable = 0;  // of those, connections this process may not look at
  std::vector<StuckFuse> stuck;

  std::optional<std::uint64_t> dirty;  // bytes, of the whole machine
  std::vector<SyncingOverlay> overlays;
};

// Fills in what the mount table alone tells: mounts, groups, copies of the root, overlays (without their dirty bytes).
void read_table_facts(const kernel::MountTable& table, Facts& facts);

// Looks at everything. The process ends up in a mount namespace of its own, where the unmounts are timed.
[[nodiscard]] Result<Facts> gather(const kernel::SystemCalls& calls);

}  // namespace unmoor::cli::doctor
