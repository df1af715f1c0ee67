// SPDX-License-Identifier: MIT
// One comparison: two or more sides that do the same job, run in turns.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernel/error.h"

namespace unmoor::measure {

enum class Role : std::uint8_t {
  kReference,  // what others are compared with; exactly one side, the first
  kContender,
  kFloor,  // what no contender can beat, such as an empty program; at most one side
};

// One side of a scenario. Only `run` is timed; it returns the seconds it took.
struct Side {
  std::string command;  // as a person would type it
  Role role = Role::kContender;
  std::function<Result<void>()> prepare;  // before each run; may be empty
  std::function<Result<double>()> run;
  std::function<Result<void>()> clean_up;  // after each, also after a failed one; may be empty
};

struct Scenario {
  std::string name;         // one word, for --only
  std::string description;  // one line
  int runs = 10;            // of each side
  std::vector<Side> sides;
};

struct Measured {
  std::vector<std::vector<double>> seconds;  // of each side, in the order of the runs
};

// Called before each round with its number, from 0.
using Progress = std::function<void(int round)>;

// One round that is not counted, then `runs` rounds in which every side runs once; which side comes first changes from
// round to round. Error: the first that a side returns (clean_up has been called for it), or EINTR after a signal.
[[nodiscard]] Result<Measured> run_scenario(const Scenario& scenario, int runs, const Progress& progress);

}  // namespace unmoor::measure
