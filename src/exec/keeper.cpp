// SPDX-License-Identifier: MIT
#include "exec/keeper.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <unistd.h>

#include "exec/verdict.h"
#include "kernel/mount_table.h"

namespace unmoor::exec {

using kernel::SystemCalls;

bool Keeper::may_stay(const Kept& kept) const {
  auto table = kernel::MountTable::read_again(calls_, kept.table.get());
  if (!table) return false;
  return judge({.calls = calls_,
                .defer = defer_,
                .inside = *table,
                .tmpfs = TmpfsSize::kAssumed,
                .outside = outside_.tables(),
                .init_root = outside_.init_root()})
             .reason == detach::DeferReason::kDeferred;
}

void Keeper::let_go(Kept& kept, const char* why) const {
  report_.write({.what = "let go", .target = "mount namespace", .why = why, .pid = kept.pid});
  // Closing the last reference waits for the grace period, and the broker waits for nothing: a child of its own has
  // that reference once ours is closed.
  std::array<int, 2> ends{-1, -1};
  if (calls_.call(SYS_pipe2, SystemCalls::pointer(ends.data()), O_CLOEXEC) != 0) return;
  kernel::UniqueFd here(ends[1]);
  kernel::UniqueFd there(ends[0]);
  const pid_t child = ::fork();
  if (child == 0) {
    here.reset();
    char byte = 0;
    static_cast<void>(calls_.read(there.get(), &byte, 1));  // returns when ours is closed
    std::_Exit(0);
  }
  kept.space.reset();
  kept.table.reset();
}

bool Keeper::keep(Kept kept) {
  const auto same = std::ranges::find(kept_, kept.inode, &Kept::inode);
  if (same != kept_.end()) {
    // The newest detach in a namespace comes closest to the payload, and its ticket is the one the shim keeps.
    *same = std::move(kept);
    return true;
  }
  if (!kept.process || !kept.space || !kept.table) return false;
  report_.write(
      {.what = "kept", .target = "mount namespace", .why = "until its first process has ended", .pid = kept.pid});
  kept_.push_back(std::move(kept));
  return true;
}

void Keeper::look_again() {
  std::erase_if(kept_, [this](Kept& kept) {
    if (may_stay(kept)) return false;
    let_go(kept, "something in it may not be released late any more");
    return true;
  });
}

void Keeper::add_to(std::vector<pollfd>& waiting) const {
  for (const Kept& kept : kept_) {
    waiting.push_back({kept.process.get(), POLLIN, 0});
    waiting.push_back({kept.table.get(), POLLPRI, 0});
    waiting.push_back({kept.ticket ? kept.ticket.get() : -1, POLLRDHUP, 0});
  }
}

void Keeper::handle(const pollfd* events) {
  std::vector<Kept> staying;
  for (Kept& kept : kept_) {
    const pollfd* const mine = events;
    events += kEventsEach;
    if (mine[0].revents != 0) {
      let_go(kept, "its first process has ended");
      continue;
    }
    if ((mine[1].revents & POLLPRI) != 0 && !may_stay(kept)) {
      let_go(kept, "something was mounted in it that may not be released late");
      continue;
    }
    if (mine[2].revents != 0) kept.ticket.reset();
    staying.push_back(std::move(kept));
  }
  kept_ = std::move(staying);
}

}  // namespace unmoor::exec
