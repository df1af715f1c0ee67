// SPDX-License-Identifier: MIT
// From a script on which two sides differ to a minimal one: no single operation can be left out of it.
#pragma once

#include "differential/compare.h"

namespace unmoor::differential {

// A script that does not diverge comes back as it is. Errors: a side broke.
[[nodiscard]] Result<Script> shrink(const Start& left, const Start& right, Script script);

}  // namespace unmoor::differential
