// SPDX-License-Identifier: MIT
// The root directory of a process or thread (chroot(2), or that of its mount namespace).
#include "gone/holders/finders.h"
#include "gone/holders/links.h"

namespace unmoor::gone::holders {

void find_root_directory(const ProcessView& view, Sightings& out) {
  look_at_link(view, "root", HolderKind::kRootDirectory, out);
}

}  // namespace unmoor::gone::holders
