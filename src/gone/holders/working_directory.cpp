// SPDX-License-Identifier: MIT
// The working directory of a process or thread.
#include "gone/holders/finders.h"
#include "gone/holders/links.h"

namespace unmoor::gone::holders {

void find_working_directory(const ProcessView& view, Sightings& out) {
  look_at_link(view, "cwd", HolderKind::kWorkingDirectory, out);
}

}  // namespace unmoor::gone::holders
