// SPDX-License-Identifier: MIT
#include "cli/bench/run.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <span>

#include <CLI/CLI.hpp>

#include "cli/bench/benches.h"
#include "cli/bench/measuring.h"
#include "cli/bench/report.h"
#include "cli/verbs.h"
#include "measure/interrupt.h"

namespace unmoor::cli {
namespace {

using bench::Bench;
using bench::CommonOptions;
using bench::Planned;

constexpr std::array kBenches = {
    Bench{"exec", "container runtimes, alone and under unmoor exec", bench::set_up_exec},
    Bench{"tree", "the tree's umount, by release policy", bench::set_up_tree},
    Bench{"umount", "whole umount commands, util-linux's beside ours", bench::set_up_umount},
    Bench{"who", "who holds a mount, and the wait for its device: lsof, fuser and lsfd beside ours", bench::set_up_who},
};
constexpr std::size_t kInAll = 3;  // the first, which are about unmounting

void add_common(CLI::App& command, CommonOptions& options) {
  command.add_option("-r,--runs", options.runs, "runs of each side (default: the scenario's own)")
      ->check(CLI::Range(1, 100000));
  command.add_option("--rcu", options.rcu, "grace periods to measure under; all but `current` need root")
      ->check(CLI::IsMember({"current", "normal", "expedited"}))
      ->capture_default_str();
  command
      .add_option_function<int>(
          "--wait", [&options](int seconds) { options.wait = std::chrono::seconds(seconds); },
          "seconds to wait when somebody else has the RCU knobs (default: 0)")
      ->check(CLI::Range(0, 86400));
  command.add_option("--only", options.only, "these scenarios, separated by commas")->delimiter(',');
  command.add_flag("--private", options.private_only, "mount in a private mount namespace only");
  command.add_flag("--table", options.table, "each run, as `perf stat --table` shows it");
  command.add_flag("--list", options.list, "list the scenarios and end");
  command.add_flag("--json", options.json, "print JSON (see unmoor-bench(1))");
}

// By its own name, or after its bench's: two benches may use the same.
bool has_name(const Planned& plan, const std::string& name) {
  return name == plan.name || name == plan.bench + "/" + plan.name;
}

int run_chosen(const std::string& asked, std::vector<Planned> plans, const CommonOptions& options) {
  for (const std::string& name : options.only) {
    if (std::ranges::any_of(plans, [&](const Planned& plan) { return has_name(plan, name); })) continue;
    std::fprintf(stderr, "unmoor bench: no scenario '%s'\nHINT: `unmoor bench %s --list` lists them.\n", name.c_str(),
                 asked.c_str());
    return 1;
  }
  if (options.list) {
    for (const Planned& plan : plans) {
      const std::string name = asked == plan.bench ? plan.name : plan.bench + "/" + plan.name;
      std::printf("%-*s %s\n", asked == plan.bench ? 12 : 19, name.c_str(), plan.description.c_str());
    }
    return 0;
  }
  std::erase_if(plans, [&](const Planned& plan) {
    return !options.only.empty() &&
           std::ranges::none_of(options.only, [&](const std::string& name) { return has_name(plan, name); });
  });
  int signal = 0;
  int code = 0;
  {
    const measure::InterruptsNoted noted;
    code = bench::measure_all(asked, plans, options);
    signal = measure::interrupted();
  }
  if (signal != 0) raise(signal);  // everything is put back: end as the signal would have
  return code;
}

// A subcommand that measures some of the benches, with the options of all of them.
void add_bench(CLI::App& app, const char* name, const char* summary, std::span<const Bench> benches,
               CommonOptions& options, int& code) {
  CLI::App* const command = app.add_subcommand(name, summary);
  add_common(*command, options);
  using Plans = std::function<std::vector<Planned>(const std::string& unmoor)>;
  std::vector<std::pair<const char*, Plans>> parts;
  for (const Bench& bench : benches)
    parts.emplace_back(bench.name, bench.set_up(*command));
  command->callback([&code, &options, name, parts] {
    std::vector<Planned> plans;
    for (const auto& [bench, make] : parts) {
      for (Planned& plan : make(unmoor_program)) {
        plan.bench = bench;
        plans.push_back(std::move(plan));
      }
    }
    code = run_chosen(name, std::move(plans), options);
  });
}

}  // namespace

int run_bench(int argc, char** argv) {
  CLI::App app("Measures unmounting, side by side. See unmoor-bench(1).", "unmoor bench");
  app.require_subcommand(1);
  CommonOptions options;
  int code = 0;
  for (const Bench& bench : kBenches)
    add_bench(app, bench.name, bench.summary, std::span(&bench, 1), options, code);
  add_bench(app, "all", "exec, tree and umount", std::span(kBenches).first(kInAll), options, code);
  bench::add_report(app, code);
  CLI11_PARSE(app, argc, argv);
  return code;
}

}  // namespace unmoor::cli
