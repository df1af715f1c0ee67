// SPDX-License-Identifier: MIT
#include "exec/outside.h"

#include <algorithm>
#include <ctime>
#include <string>

#include "exec/capability.h"

namespace unmoor::exec {

using kernel::MountTable;
using kernel::SystemCalls;
using kernel::UniqueFd;

Outside Outside::open(const SystemCalls& calls, const Identity& self) {
  Outside outside(calls);
  UniqueFd own(static_cast<int>(calls.openat(self.proc.get(), "self/mountinfo", O_RDONLY)));
  if (own) outside.events_.push_back(std::move(own));
  struct ::statx init{};
  const bool known = calls.statx(self.proc.get(), "1/ns/mnt", AT_STATX_DONT_SYNC, STATX_INO, &init) == 0;
  outside.is_init_ = known && init.stx_ino == self.mount_namespace;
  outside.is_foreign_ = !has_sys_admin(calls);
  if (!outside.is_init_) {
    UniqueFd theirs(static_cast<int>(calls.openat(self.proc.get(), "1/mountinfo", O_RDONLY)));
    if (theirs) outside.events_.push_back(std::move(theirs));
  }
  outside.read_again();
  return outside;
}

bool Outside::has_changed(const UniqueFd& event) const {
  pollfd waiting{event.get(), POLLPRI, 0};
  const timespec at_once{};
  return calls_->call(SYS_ppoll, SystemCalls::pointer(&waiting), 1, SystemCalls::pointer(&at_once), 0, 0) > 0 &&
         (waiting.revents & POLLPRI) != 0;
}

void Outside::refresh() {
  // All of them are asked: each remembers on its own what it has reported.
  if (std::ranges::count_if(events_, [this](const UniqueFd& event) { return has_changed(event); }) > 0) read_again();
}

void Outside::read_again() {
  ++version_;
  tables_.clear();
  for (const UniqueFd& event : events_) {
    auto table = MountTable::read_again(*calls_, event.get());
    // Of a table that cannot be read, nothing is known to be mounted.
    tables_.push_back(table ? std::move(*table) : *MountTable::parse(""));
  }
  init_root_.reset();
  const bool init_is_read = is_init_ || tables_.size() == 2;
  if (!init_is_read) return;
  for (const kernel::MountEntry& entry : tables_.back().entries())
    if (entry.mount_point == "/") init_root_ = entry.device;
}

bool Outside::may_be_held(detach::Defer defer) const {
  if (is_init_ || is_foreign_ || defer == detach::Defer::kAlways) return true;
  if (tables_.empty() || tables_.front().entries().empty()) return false;
  return judge({.calls = *calls_,
                .defer = defer,
                .inside = tables_.front(),
                .own = true,
                .outside = std::span(tables_).subspan(1),
                .init_root = init_root_})
             .reason == detach::DeferReason::kDeferred;
}

}  // namespace unmoor::exec
