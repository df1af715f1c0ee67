// SPDX-License-Identifier: MIT
// The program a process runs: pinned also when its file is mapped no more.
#include "gone/holders/finders.h"
#include "gone/holders/links.h"

namespace unmoor::gone::holders {

void find_executable(const ProcessView& view, Sightings& out) {
  look_at_link(view, "exe", HolderKind::kExecutable, out);
}

}  // namespace unmoor::gone::holders
