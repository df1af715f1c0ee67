// SPDX-License-Identifier: MIT
#include "measure/scenario.h"

#include "measure/interrupt.h"

namespace unmoor::measure {
namespace {

Result<double> prepare_and_run(const Side& side) {
  if (side.prepare) {
    if (const Result<void> prepared = side.prepare(); !prepared) return std::unexpected(prepared.error());
  }
  return side.run();
}

Result<double> run_once(const Side& side) {
  const Result<double> seconds = prepare_and_run(side);
  if (side.clean_up) {
    const Result<void> cleaned = side.clean_up();
    if (seconds && !cleaned) return std::unexpected(cleaned.error());
  }
  return seconds;
}

}  // namespace

Result<Measured> run_scenario(const Scenario& scenario, int runs, const Progress& progress) {
  const std::size_t sides = scenario.sides.size();
  Measured measured;
  measured.seconds.resize(sides);
  for (int round = -1; round < runs; ++round) {
    if (progress && round >= 0) progress(round);
    for (std::size_t turn = 0; turn < sides; ++turn) {
      const std::size_t index = (turn + static_cast<std::size_t>(round + 1)) % sides;
      const Result<double> seconds = run_once(scenario.sides[index]);
      if (interrupted() != 0) return fail(EINTR, "run", scenario.name);
      if (!seconds) return std::unexpected(seconds.error());
      if (round >= 0) measured.seconds[index].push_back(*seconds);
    }
  }
  return measured;
}

}  // namespace unmoor::measure
