// SPDX-License-Identifier: MIT
// Open files. One statx per descriptor tells its mount; only what may matter is looked at twice.
#include <array>
#include <charconv>

#include "gone/holders/finders.h"
#include "gone/holders/links.h"
#include "kernel/procfs_directory.h"
#include "kernel/procfs_text.h"

namespace unmoor::gone::holders {
namespace {

// What statx would say, from fdinfo: it asks nobody. Mode, links and device stay unknown.
Result<kernel::Place> place_from_fdinfo(const ProcessView& view, int descriptor) {
  Result<kernel::DescriptorFacts> facts = kernel::descriptor_facts(*view.calls, view.directory, descriptor);
  if (!facts) return std::unexpected(facts.error());
  kernel::Place place;
  place.mount_id = facts->mount_id;
  place.inode = facts->inode;
  place.links = 1;
  return place;
}

void add_descriptor(const ProcessView& view, int descriptor, const kernel::Place& place, Sightings& out) {
  const std::string link = "fd/" + std::to_string(descriptor);
  const Result<std::string> text = kernel::read_link(*view.calls, view.directory, link.c_str());
  const Result<kernel::DescriptorFacts> facts = kernel::descriptor_facts(*view.calls, view.directory, descriptor);
  if (!text || !facts) return;  // closed meanwhile
  const bool by_path = (facts->flags & O_PATH) != 0;
  // A descriptor of a tree that hangs in no namespace shows its root, as "/".
  const bool tree = by_path && *text == "/" && view.wanted->of(place.mount_id) == MountClass::kStranger;
  out.seen.push_back({.kind = tree      ? HolderKind::kDetachedTree
                              : by_path ? HolderKind::kPathDescriptor
                                        : HolderKind::kDescriptor,
                      .pid = view.pid,
                      .tid = view.tid,
                      .descriptor = descriptor,
                      .place = place,
                      .path = *text,
                      .detail = {},
                      .name_space = view.name_space});
}

void add_device_node(const ProcessView& view, int descriptor, const kernel::Place& place, Sightings& out) {
  const std::string link = "fd/" + std::to_string(descriptor);
  const Result<std::string> text = kernel::read_link(*view.calls, view.directory, link.c_str());
  if (!text) return;
  out.seen.push_back({.kind = HolderKind::kDeviceDescriptor,
                      .pid = view.pid,
                      .tid = view.tid,
                      .descriptor = descriptor,
                      .place = place,
                      .path = *text,
                      .detail = {},
                      .name_space = view.name_space});
}

}  // namespace

bool find_descriptors(const ProcessView& view, const KnownSockets& sockets, Sightings& out) {
  const Result<kernel::UniqueFd> table = kernel::open_directory(*view.calls, view.directory, "fd");
  if (!table) return table.error().code != EACCES && table.error().code != EPERM;
  const Result<void> read = kernel::for_each_name(*view.calls, table->get(), [&](std::string_view name) {
    view.heartbeat->fetch_add(1, std::memory_order_relaxed);
    const int descriptor = kernel::numeric_name(name);
    if (descriptor < 0) return;
    const Result<kernel::Place> place = view.wanted->careful ? place_from_fdinfo(view, descriptor)
                                                             : kernel::place_of(*view.calls, table->get(), name.data());
    if (!place) return;
    if (S_ISBLK(place->mode) &&
        std::ranges::find(view.wanted->block_devices, place->special) != view.wanted->block_devices.end()) {
      add_device_node(view, descriptor, *place, out);
    }
    switch (view.wanted->of(place->mount_id)) {
      case MountClass::kWanted:
      case MountClass::kStranger:
        add_descriptor(view, descriptor, *place, out);
        break;
      case MountClass::kSockets:
        if (sockets.bound.contains(place->inode)) out.socket_owners.emplace_back(place->inode, view.pid);
        if (!sockets.drained.contains(place->inode)) find_in_flight(view, descriptor, *place, out);
        break;
      case MountClass::kAnonymous:
        find_ring_files(view, descriptor, out);
        break;
      case MountClass::kNamespaces:
        find_kept_namespace(view, descriptor, out);
        break;
      case MountClass::kOther:
      case MountClass::kUninteresting:
        break;
    }
  });
  return read.has_value() || (read.error().code != EACCES && read.error().code != EPERM);
}

}  // namespace unmoor::gone::holders
