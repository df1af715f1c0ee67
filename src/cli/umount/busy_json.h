// SPDX-License-Identifier: MIT
// The holders of busy mounts in `unmoor umount --json`: the same keys as `unmoor who --json` (unmoor-who(1)), written
// without the JSON library, which this program must start without.
#pragma once

#include <string>

#include "gone/inquiry.h"

namespace unmoor::cli::umount {

// "busy": [...], "notes": [...]
[[nodiscard]] std::string busy_json(const gone::Inquiry& inquiry);

}  // namespace unmoor::cli::umount
