// SPDX-License-Identifier: MIT
// The benches. To add one: a row in run.cpp, and a function that turns its options into a list of scenarios.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cli/bench/result.h"
#include "measure/scenario.h"
#include "measure/scratch.h"

namespace CLI {
class App;
}

namespace unmoor::cli::bench {

// A scenario, and where it mounts. `make` is called in that mount namespace, with the scratch tmpfs as the current
// directory and an empty directory `mnt` in it; what the scenario holds is destroyed there too.
struct Planned {
  std::string name;
  std::string description;
  measure::MountNamespace where = measure::MountNamespace::kPrivate;
  std::function<Result<measure::Scenario>()> make;
  std::function<Result<KindTable>()> look = {};  // instead of `make`: nothing is timed
  std::string bench = {};                        // whose it is; filled in by the caller of set_up's function
};

struct Bench {
  const char* name;
  const char* summary;
  // Adds the bench's own options to its subcommand, and returns what is called once they are parsed: `unmoor` is the
  // program to be measured.
  std::function<std::vector<Planned>(const std::string& unmoor)> (*set_up)(CLI::App& command);
};

[[nodiscard]] std::function<std::vector<Planned>(const std::string& unmoor)> set_up_exec(CLI::App& command);
[[nodiscard]] std::function<std::vector<Planned>(const std::string& unmoor)> set_up_umount(CLI::App& command);
[[nodiscard]] std::function<std::vector<Planned>(const std::string& unmoor)> set_up_tree(CLI::App& command);
[[nodiscard]] std::function<std::vector<Planned>(const std::string& unmoor)> set_up_who(CLI::App& command);

}  // namespace unmoor::cli::bench
