// SPDX-License-Identifier: MIT
// Descriptors in flight: sent over a unix socket and not yet received. They are in no descriptor table; fdinfo of the
// receiving socket counts them (scm_fds), and nothing says which files they are.
#include "gone/holders/finders.h"

namespace unmoor::gone::holders {

void find_in_flight(const ProcessView& view, int descriptor, const kernel::Place& socket, Sightings& out) {
  const Result<kernel::DescriptorFacts> facts = kernel::descriptor_facts(*view.calls, view.directory, descriptor);
  if (!facts || facts->in_flight == 0) return;
  out.seen.push_back({.kind = HolderKind::kInFlight,
                      .certainty = Certainty::kCandidate,
                      .pid = view.pid,
                      .tid = view.tid,
                      .descriptor = descriptor,
                      .place = socket,
                      .known_mount = false,
                      .path = "socket:[" + std::to_string(socket.inode) + "]",
                      .detail = std::to_string(facts->in_flight) +
                                (facts->in_flight == 1 ? " descriptor queued" : " descriptors queued"),
                      .name_space = view.name_space});
}

}  // namespace unmoor::gone::holders
