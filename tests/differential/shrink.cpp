// SPDX-License-Identifier: MIT
#include "differential/shrink.h"

#include <algorithm>

namespace unmoor::differential {
namespace {

// Cuts everything after the first divergence. False when there is none, or another one than `wanted`: a script must not
// shrink from one fault to another.
Result<bool> cut_to_divergence(const Start& left, const Start& right, Script& script,
                               const std::optional<Divergence>& wanted) {
  const Result<Comparison> comparison = compare(left, right, script, ListEvery::kStep);
  if (!comparison) return std::unexpected(comparison.error());
  const std::optional<Divergence>& found = comparison->divergence;
  if (!found || (wanted && found->kind != wanted->kind)) return false;
  if (wanted && found->kind == DivergenceKind::kErrno && found->message != wanted->message) return false;
  script.resize(found->step + 1);
  return true;
}

}  // namespace

Result<Script> shrink(const Start& left, const Start& right, Script script) {
  const Result<Comparison> whole = compare(left, right, script, ListEvery::kStep);
  if (!whole) return std::unexpected(whole.error());
  if (!whole->divergence) return script;
  const std::optional<Divergence>& wanted = whole->divergence;
  script.resize(wanted->step + 1);
  for (std::size_t chunk = std::max<std::size_t>(script.size() / 2, 1);;) {
    bool smaller = false;
    for (std::size_t at = 0; at < script.size();) {
      Script candidate = script;
      const std::size_t end = std::min(at + chunk, candidate.size());
      candidate.erase(candidate.begin() + static_cast<std::ptrdiff_t>(at),
                      candidate.begin() + static_cast<std::ptrdiff_t>(end));
      const Result<bool> still = cut_to_divergence(left, right, candidate, wanted);
      if (!still) return std::unexpected(still.error());
      if (*still) {
        script = std::move(candidate);
        smaller = true;
      } else {
        at += chunk;
      }
    }
    if (chunk > 1) {
      chunk /= 2;
    } else if (!smaller) {
      return script;
    }
  }
}

}  // namespace unmoor::differential
