// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "measure/rcu_guard.h"

namespace unmoor::test {

// Normal grace periods make "a moment too early" milliseconds long; without them the tests still run.
inline std::optional<measure::RcuGuard> slow_grace_periods() {
  auto guard = measure::RcuGuard::set(
      {.knobs = {.normal = 1, .expedited = std::nullopt}, .wait_for_lock = std::chrono::seconds(30)});
  if (!guard) return std::nullopt;
  return std::move(*guard);
}

}  // namespace unmoor::test
