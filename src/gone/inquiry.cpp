// SPDX-License-Identifier: MIT
#include "gone/inquiry.h"

#include <algorithm>
#include <array>
#include <set>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "gone/matching.h"
#include "gone/visible_mount.h"
#include "kernel/procfs_text.h"
#include "kernel/superblock_alive.h"

namespace unmoor::gone {
namespace {

using kernel::MountEntry;
using kernel::UniqueFd;

// The ids of the kernel's own mounts, which no table shows: one file of each sort tells.
void mark_own_mounts_of_the_kernel(const Census& census, Wanted& wanted) {
  const kernel::SystemCalls& calls = census.calls();
  const auto mark = [&](long fd, MountClass as) {
    if (fd < 0) return;
    const UniqueFd owner(static_cast<int>(fd));
    if (const Result<kernel::Place> place = kernel::place_of(calls, owner.get(), "")) wanted.mark(place->mount_id, as);
  };
  mark(calls.call(SYS_socket, AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC), MountClass::kSockets);
  mark(calls.call(SYS_eventfd2, 0, EFD_CLOEXEC), MountClass::kAnonymous);
  mark(calls.openat(census.proc(), "thread-self/ns/mnt", O_RDONLY), MountClass::kNamespaces);
  mark(calls.call(SYS_memfd_create, kernel::SystemCalls::pointer("unmoor"), 1), MountClass::kUninteresting);
  std::array<int, 2> pipe{-1, -1};
  if (calls.call(SYS_pipe2, kernel::SystemCalls::pointer(pipe.data()), O_CLOEXEC) == 0) {
    mark(pipe[0], MountClass::kUninteresting);
    calls.close(pipe[1]);
  }
}

Wanted wanted_for(const Census& census, const std::vector<Target>& targets) {
  Wanted wanted;
  for (const auto& [id, place] : census.mounts()) {
    const MountEntry& entry = census.entry(place);
    if (kernel::may_revalidate(entry.type)) wanted.careful = true;
    const bool asked = std::ranges::any_of(
        targets, [&](const Target& target) { return match_mount(census, target, id, std::nullopt) == Match::kYes; });
    wanted.mark(id, asked ? MountClass::kWanted : MountClass::kOther);
  }
  mark_own_mounts_of_the_kernel(census, wanted);
  for (const Target& target : targets) {
    if (target.mount_id != 0 && !target.attached) wanted.mark(target.mount_id, MountClass::kWanted);
    if (target.superblock) wanted.devices.push_back(*target.superblock);
    if (target.block_device && target.scope == Scope::kFilesystem) wanted.block_devices.push_back(*target.block_device);
  }
  return wanted;
}

// Unix sockets of every network namespace: ours by diagnostics, which tell more; others by text.
kernel::UnixSockets read_unix_sockets(const Census& census) {
  const kernel::SystemCalls& calls = census.calls();
  std::set<std::uint64_t> seen;
  Result<kernel::UnixSockets> own = kernel::unix_sockets_by_diag(calls);
  kernel::UnixSockets sockets = own ? std::move(*own) : kernel::UnixSockets();
  if (own) {
    if (const Result<std::uint64_t> inode = kernel::namespace_inode(calls, census.proc(), "thread-self/ns/net"))
      seen.insert(*inode);
  }
  for (const ProcessEntry& process : census.processes()) {
    const std::string directory = std::to_string(process.pid);
    const Result<std::uint64_t> inode = kernel::namespace_inode(calls, census.proc(), (directory + "/ns/net").c_str());
    if (!inode || !seen.insert(*inode).second) continue;
    const Result<std::string> text = kernel::read_text(calls, census.proc(), (directory + "/net/unix").c_str());
    if (!text) continue;
    std::ranges::move(kernel::parse_net_unix(*text), std::back_inserter(sockets.bound));
  }
  return sockets;
}

// Namespaces that the scan came across: one without a process is known by its descriptor only, and a thread may live in
// one of its own.
void add_seen_namespaces(Census& census, const Sightings& sightings) {
  for (const SeenNamespace& seen : sightings.namespaces) {
    NamespaceKeeper keeper{
        .by = seen.descriptor >= 0 ? NamespaceKeeper::By::kDescriptor : NamespaceKeeper::By::kProcess,
        .pid = seen.pid,
        .descriptor = seen.descriptor,
        .path = {},
        .processes = seen.descriptor >= 0 ? 0U : 1U};
    const std::string link = proc_directory(seen.pid, seen.tid) +
                             (seen.descriptor >= 0 ? "/fd/" + std::to_string(seen.descriptor) : "/ns/mnt");
    census.add_namespace(seen.inode, keeper, link);
  }
}

// A mount asked for by an id that is in no table: what was seen on it tells its filesystem, and a unique id its small
// one.
void complete_detached(const Census& census, const Sightings& sightings, Target& target) {
  if (target.attached) return;
  for (const Sighting& sighting : sightings.seen) {
    if (!sighting.known_mount) continue;
    if (target.unique_id != 0 && target.mount_id == 0 && !census.find_mount(sighting.place.mount_id)) {
      const std::string link = proc_link(sighting.kind, sighting.pid, sighting.tid, sighting.descriptor);
      if (link.empty()) continue;
      const Result<std::uint64_t> unique = kernel::unique_mount_id(census.calls(), census.proc(), link.c_str());
      if (unique && *unique == target.unique_id) target.mount_id = sighting.place.mount_id;
    }
    if (target.mount_id != 0 && sighting.place.mount_id == target.mount_id && !target.superblock) {
      target.superblock = sighting.place.device;
      if (sighting.place.device.major != 0) target.block_device = sighting.place.device;
    }
  }
}

void add_notes(const Census& census, const ScanResult& scan, std::vector<std::string>& notes) {
  const std::size_t denied = std::max(scan.sightings.denied, census.hidden_processes());
  if (denied > 0) {
    const bool root = census.calls().call(SYS_geteuid) == 0;
    notes.push_back(std::to_string(denied) + (denied == 1 ? " process" : " processes") +
                    (root ? " may not be looked into, not even by root here"
                          : " of other users may not be looked into: root would see more"));
  }
  for (const MountEntry& entry : census.own().table.entries()) {
    if (entry.type != "proc" || entry.mount_point != "/proc") continue;
    const bool hides = entry.super_options.find("hidepid=2") != std::string_view::npos ||
                       entry.super_options.find("hidepid=invisible") != std::string_view::npos;
    if (hides && census.calls().call(SYS_geteuid) != 0)
      notes.emplace_back("/proc hides the processes of other users (hidepid)");
  }
  constexpr kernel::NamespaceInode kFirstPidNamespace = 0xEFFFFFFC;
  const Result<kernel::NamespaceInode> pids =
      kernel::namespace_inode(census.calls(), census.proc(), "thread-self/ns/pid");
  if (pids && *pids != kFirstPidNamespace) notes.emplace_back("processes outside this pid namespace cannot be seen");
  if (census.unread_namespaces() > 0)
    notes.push_back("the mounts of " + std::to_string(census.unread_namespaces()) +
                    " other mount namespaces could not be read");
  if (!scan.stuck.empty()) {
    std::string text = "processes stuck in the kernel, not read to the end:";
    for (std::size_t i = 0; i < std::min<std::size_t>(scan.stuck.size(), 8); ++i)
      text += " " + std::to_string(scan.stuck[i]);
    if (scan.stuck.size() > 8) text += " and " + std::to_string(scan.stuck.size() - 8) + " more";
    notes.push_back(std::move(text));
  }
  if (scan.unlooked > 0)
    notes.push_back(std::to_string(scan.unlooked) + " processes were not looked into, for lack of time");
}

bool is_alive(const Census& census, const Target& target) {
  if (target.block_device) {
    const Result<std::string> node = kernel::block_device_node(census.calls(), *target.block_device);
    if (node && kernel::try_exclusive(census.calls(), *node) == kernel::Exclusive::kInUse) return true;
  }
  return target.superblock && !target.type.empty() && !target.block_device &&
         kernel::superblock_alive(census.calls(), *target.superblock, target.type) == kernel::Alive::kYes;
}

}  // namespace

std::size_t count_holders(const Answer& answer, Prevents prevents) {
  return static_cast<std::size_t>(std::ranges::count(answer.holders, prevents, &Holder::prevents));
}

Result<Inquiry> inquire(std::shared_ptr<Census> census, std::vector<Target> targets, const ScanOptions& options) {
  kernel::UnixSockets sockets = read_unix_sockets(*census);
  Evidence evidence{.census = census, .sightings = {}, .kernel_users = {}, .bound_sockets = std::move(sockets.bound)};
  holders::KnownSockets known{.bound = {}, .drained = std::move(sockets.drained)};
  for (const kernel::BoundSocket& socket : evidence.bound_sockets)
    known.bound.insert(socket.inode);
  ScanResult scan = scan_processes(census, wanted_for(*census, targets), std::move(known), options);
  evidence.sightings = std::move(scan.sightings);
  add_seen_namespaces(*census, evidence.sightings);
  using Finder = std::vector<holders::KernelUser> (*)(const kernel::SystemCalls&);
  constexpr std::array<Finder, 5> kFinders = {holders::find_swap, holders::find_loops, holders::find_binary_formats,
                                              holders::find_uprobes, holders::find_exports};
  for (const Finder find : kFinders)
    std::ranges::move(find(census->calls()), std::back_inserter(evidence.kernel_users));

  Inquiry inquiry;
  scan.sightings.denied = evidence.sightings.denied;
  add_notes(*census, scan, inquiry.notes);
  Identities identities(*census, evidence.sightings);
  for (Target& target : targets) {
    complete_detached(*census, evidence.sightings, target);
    Answer answer{.target = std::move(target), .holders = {}};
    match_processes(evidence, identities, answer);
    match_sockets(evidence, identities, answer);
    match_mounts(evidence, identities, answer);
    match_overlays(evidence, answer);
    match_kernel_users(evidence, answer);
    sort_inner_first(answer.holders);
    const bool certain = std::ranges::any_of(
        answer.holders, [](const Holder& holder) { return holder.certainty == Certainty::kCertain; });
    answer.unexplained = !answer.target.attached && !certain && is_alive(*census, answer.target);
    inquiry.answers.push_back(std::move(answer));
  }
  return inquiry;
}

}  // namespace unmoor::gone
