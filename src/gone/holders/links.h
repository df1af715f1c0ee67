// SPDX-License-Identifier: MIT
// What the finders of cwd, root and exe share: to follow one magic link without waiting for a server.
#pragma once

#include "gone/sighting.h"

namespace unmoor::gone::holders {

// Looks at `link` and adds a sighting of `kind` when it leads to a mount that is wanted or in no table.
void look_at_link(const ProcessView& view, const char* link, HolderKind kind, Sightings& out);

// True when a place is worth a sighting: a mount that was asked for, or one that may turn out to be.
[[nodiscard]] bool is_of_interest(const ProcessView& view, std::uint64_t mount_id);

}  // namespace unmoor::gone::holders
