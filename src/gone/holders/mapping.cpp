// SPDX-License-Identifier: MIT
// Mapped files. maps tells the superblock; map_files, where it may be read, tells the mount.
#include "gone/holders/finders.h"
#include "kernel/procfs_maps.h"

namespace unmoor::gone::holders {

void find_mappings(const ProcessView& view, Sightings& out) {
  if (view.wanted->devices.empty()) return;
  const Result<std::vector<kernel::Mapping>> mappings =
      kernel::mappings_of(*view.calls, view.directory, view.wanted->devices);
  if (!mappings) {
    if (mappings.error().code == EACCES || mappings.error().code == EPERM) ++out.denied;
    return;
  }
  for (const kernel::Mapping& mapping : *mappings) {
    view.heartbeat->fetch_add(1, std::memory_order_relaxed);
    Sighting sighting{.kind = HolderKind::kMapping,
                      .pid = view.pid,
                      .tid = view.tid,
                      .place = {},
                      .known_mount = false,
                      .path = mapping.path,
                      .detail = {},
                      .name_space = view.name_space};
    sighting.place.device = mapping.device;
    sighting.place.links = 1;
    const std::string link = "map_files/" + mapping.range;
    const Result<kernel::Place> place =
        view.wanted->careful ? fail(ENOTSUP, "statx") : kernel::place_of(*view.calls, view.directory, link.c_str());
    if (place) {
      sighting.known_mount = true;
      sighting.place = *place;
      const MountClass as = view.wanted->of(place->mount_id);
      if (as != MountClass::kWanted && as != MountClass::kStranger) continue;
    }
    out.seen.push_back(std::move(sighting));
  }
}

}  // namespace unmoor::gone::holders
