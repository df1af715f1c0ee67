// SPDX-License-Identifier: MIT
// Mount namespaces that are kept alive until the processes of a container have ended, so that none of them waits for
// the grace period of the namespace's death.
//
// A namespace may only be kept while everything in it may be released late. What is mounted there is known from its
// mount table, which says when it changes; whether the container's own processes can change it is asked when they have
// executed the payload (the client's end of the ticket closes then). The namespace is let go at once when the answer is
// no: as long as its processes live, letting go costs nothing.
#pragma once

#include <poll.h>
#include <sys/types.h>
#include <vector>

#include "detach/policy.h"
#include "exec/outside.h"
#include "exec/report.h"
#include "kernel/system_calls.h"
#include "kernel/unique_fd.h"

namespace unmoor::exec {

struct Kept {
  kernel::UniqueFd space;    // the namespace
  kernel::UniqueFd table;    // its mount table as the client sees it
  kernel::UniqueFd ticket;   // the reply socket; hung up: the client has executed another program
  kernel::UniqueFd process;  // pidfd of the client
  pid_t pid = 0;
  std::uint64_t inode = 0;  // of the namespace: a second detach in it adds nothing
};

class Keeper {
 public:
  Keeper(const kernel::SystemCalls& calls, const Outside& outside, detach::Defer defer, const Report& report)
      : calls_(calls), outside_(outside), defer_(defer), report_(report) {}

  [[nodiscard]] bool may_stay(const Kept& kept) const;
  // Whether it is kept; if not, all of it is let go.
  bool keep(Kept kept);
  // Of all kept namespaces: let go of those that must not be kept any longer, because of what is mounted outside.
  void look_again();

  [[nodiscard]] bool empty() const { return kept_.empty(); }
  void forget() { kept_.clear(); }
  void add_to(std::vector<pollfd>& waiting) const;
  // `events`: the entries that add_to() added, filled in by poll(2).
  void handle(const pollfd* events);

  static constexpr std::size_t kEventsEach = 3;

 private:
  void let_go(Kept& kept, const char* why) const;

  const kernel::SystemCalls& calls_;
  const Outside& outside_;
  detach::Defer defer_;
  const Report& report_;
  std::vector<Kept> kept_;
};

}  // namespace unmoor::exec
