// SPDX-License-Identifier: MIT
// What is mounted outside the containers: in the broker's own mount namespace and in pid 1's. Read again only after the
// kernel has said that a table changed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "exec/client_rights.h"
#include "exec/verdict.h"
#include "kernel/mount_table.h"

namespace unmoor::exec {

class Outside {
 public:
  [[nodiscard]] static Outside open(const kernel::SystemCalls& calls, const Identity& self);

  // Reads what has changed since the last time. poll(2) reports a change once: after it has, for one of events(), only
  // read_again() will do.
  void refresh();
  void read_again();

  [[nodiscard]] std::span<const kernel::MountTable> tables() const { return tables_; }
  // Another one each time that a table has been read again.
  [[nodiscard]] std::uint64_t version() const { return version_; }
  [[nodiscard]] std::optional<kernel::DeviceNumber> init_root() const { return init_root_; }
  // POLLPRI on them when a table has changed; at most two.
  [[nodiscard]] std::span<const kernel::UniqueFd> events() const { return events_; }

  // A broker holds the mount namespace that it lives in, and may do so past its death. True when that cannot be
  // noticed: it is pid 1's, or not the caller's to unmount in, or the policy lets everything in it go late.
  [[nodiscard]] bool may_be_held(detach::Defer defer) const;

 private:
  explicit Outside(const kernel::SystemCalls& calls) : calls_(&calls) {}
  [[nodiscard]] bool has_changed(const kernel::UniqueFd& event) const;

  const kernel::SystemCalls* calls_;
  bool is_init_ = false;                  // the own namespace is pid 1's
  bool is_foreign_ = false;               // the caller may not unmount in its own namespace
  std::vector<kernel::UniqueFd> events_;  // mountinfo files, the own one first
  std::vector<kernel::MountTable> tables_;
  std::uint64_t version_ = 0;
  std::optional<kernel::DeviceNumber> init_root_;
};

}  // namespace unmoor::exec
