// SPDX-License-Identifier: MIT
// Runs the same operations on two sides and finds the first step after which they differ.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "differential/runner.h"

namespace unmoor::differential {

using Script = std::vector<cli::tree::Operation>;

enum class DivergenceKind { kErrno, kMounts };

struct Divergence {
  std::size_t step;  // index of the operation after which the sides differ
  DivergenceKind kind;
  std::string message;  // what each side says
};

struct Comparison {
  std::size_t compared = 0;  // operations that ran on both sides
  std::optional<Divergence> divergence;
};

enum class ListEvery : int { kStep = 1, kFourthStep = 4 };

// Compares the errno of each step and, as often as asked and at the end, the mounts of every namespace. Stops early
// when a namespace has grown beyond `kMostMounts`. Errors: a side broke.
inline constexpr std::size_t kMostMounts = 400;
[[nodiscard]] Result<Comparison> compare(const Start& left, const Start& right,
                                         std::span<const cli::tree::Operation> script, ListEvery every);

// The script as text, a line an operation.
[[nodiscard]] std::string script_text(std::span<const cli::tree::Operation> script);

}  // namespace unmoor::differential
