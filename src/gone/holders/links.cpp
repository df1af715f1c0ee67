// SPDX-License-Identifier: MIT
#include "gone/holders/links.h"

#include <optional>

#include "gone/visible_mount.h"
#include "kernel/procfs_text.h"

namespace unmoor::gone::holders {
namespace {

// Where a server may be asked, the link's text and the namespace's table say which mount it is, without a look at it.
std::optional<kernel::Place> place_by_text(const ProcessView& view, const char* link) {
  if (!view.wanted->careful || view.table == nullptr) return std::nullopt;
  const Result<std::string> text = kernel::read_link(*view.calls, view.directory, link);
  if (!text) return std::nullopt;
  const kernel::MountEntry* const mount = visible_mount(*view.table, *text);
  if (mount == nullptr || !kernel::may_revalidate(mount->type)) return std::nullopt;
  kernel::Place place;
  place.mount_id = static_cast<std::uint64_t>(mount->id);
  place.device = mount->device;
  place.links = 1;
  return place;
}

}  // namespace

bool is_of_interest(const ProcessView& view, std::uint64_t mount_id) {
  const MountClass as = view.wanted->of(mount_id);
  return as == MountClass::kWanted || as == MountClass::kStranger;
}

void look_at_link(const ProcessView& view, const char* link, HolderKind kind, Sightings& out) {
  view.heartbeat->fetch_add(1, std::memory_order_relaxed);
  std::optional<kernel::Place> place = place_by_text(view, link);
  if (!place) {
    const Result<kernel::Place> seen = kernel::place_of(*view.calls, view.directory, link);
    if (!seen) {
      if (seen.error().code == EACCES || seen.error().code == EPERM) ++out.denied;
      return;
    }
    place = *seen;
  }
  if (!is_of_interest(view, place->mount_id)) return;
  const Result<std::string> text = kernel::read_link(*view.calls, view.directory, link);
  out.seen.push_back({.kind = kind,
                      .pid = view.pid,
                      .tid = view.tid,
                      .place = *place,
                      .path = text ? *text : std::string(),
                      .detail = {},
                      .name_space = view.name_space});
}

}  // namespace unmoor::gone::holders
