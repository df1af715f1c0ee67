// SPDX-License-Identifier: MIT
#include "cli/bench/run.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/bench/benches.h"
#include "cli/bench/result.h"
#include "cli/verbs.h"
#include "measure/interrupt.h"
#include "measure/rcu_guard.h"

namespace unmoor::cli {
namespace {

using bench::Bench;
using bench::BenchResult;
using bench::Planned;
using bench::ScenarioResult;
using measure::MountNamespace;
using measure::RcuGuard;

constexpr std::array kBenches = {
    Bench{"exec", "container runtimes, alone and under unmoor exec", bench::set_up_exec},
    Bench{"tree", "the tree's umount, by release policy", bench::set_up_tree},
    Bench{"umount", "whole umount commands, util-linux's beside ours", bench::set_up_umount},
};

// What every bench understands.
struct CommonOptions {
  std::string rcu = "current";
  std::optional<int> runs;
  std::vector<std::string> only;
  std::chrono::seconds wait{0};
  bool json = false;
  bool list = false;
  bool table = false;
  bool private_only = false;
};

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

int complain(const Error& error) {
  std::fprintf(stderr, "unmoor bench: %s %s: %s\n", error.doing, error.object.c_str(), std::strerror(error.code));
  return 1;
}

int complain_about_knobs(const Error& error) {
  if (error.code == EBUSY) {
    std::fprintf(stderr, "unmoor bench: %s: another measurement is under way\nHINT: --wait=SECONDS waits for it.\n",
                 error.object.c_str());
    return 1;
  }
  (void)complain(error);
  if (error.code == EACCES || error.code == EPERM || error.code == EROFS)
    std::fputs("HINT: --rcu=normal and --rcu=expedited change the whole machine and need root and a writable /sys.\n",
               stderr);
  return 1;
}

std::optional<RcuGuard::Options> guard_options(const CommonOptions& options) {
  if (options.rcu == "current") return std::nullopt;
  RcuGuard::Options guard;
  guard.knobs.normal = options.rcu == "normal" ? 1 : 0;
  guard.wait_for_lock = options.wait;
  return guard;
}

measure::Progress progress_of(const Planned& plan, int runs) {
  if (isatty(STDERR_FILENO) == 0) return {};
  return [name = plan.name, runs](int round) {
    std::fprintf(stderr, "\r\x1b[K%s: run %d of %d", name.c_str(), round + 1, runs);
    if (round + 1 == runs) std::fputs("\r\x1b[K", stderr);
  };
}

// One scenario in its place: mounts and knobs are back when it returns.
std::expected<ScenarioResult, int> measure_one(const Planned& plan, const CommonOptions& options,
                                               const std::optional<RcuGuard::Options>& guard_wanted,
                                               measure::Environment& environment) {
  MountNamespace where = plan.where;
  if (options.private_only || geteuid() != 0) where = MountNamespace::kPrivate;
  const Result<measure::Scratch> scratch = measure::Scratch::make(where);
  if (!scratch) {
    const int code = complain(scratch.error());
    if (scratch.error().code == EPERM)
      std::fputs("HINT: this needs root, or user namespaces for ordinary users.\n", stderr);
    return std::unexpected(code);
  }
  const Result<measure::Scenario> scenario = plan.make();
  if (!scenario) return std::unexpected(complain(scenario.error()));
  std::optional<RcuGuard> guard;
  if (guard_wanted) {
    Result<RcuGuard> set = RcuGuard::set(*guard_wanted);
    if (!set) return std::unexpected(complain_about_knobs(set.error()));
    guard.emplace(std::move(*set));
  }
  const measure::RcuKnobs knobs = measure::read_rcu_knobs(kernel::SystemCalls::real());
  environment.rcu_normal = knobs.normal;
  environment.rcu_expedited = knobs.expedited;
  const int runs = options.runs.value_or(scenario->runs);
  Result<measure::Measured> measured = measure::run_scenario(*scenario, runs, progress_of(plan, runs));
  if (!measured) {
    if (measured.error().code == EINTR) return std::unexpected(1);
    return std::unexpected(complain(measured.error()));
  }
  ScenarioResult result{*scenario, std::move(*measured),
                        where == MountNamespace::kOwn ? "own mount namespace" : "private mount namespace",
                        guard && guard->disturbed()};
  for (measure::Side& side : result.scenario.sides)  // what a side holds belongs to the scratch that ends here
    side.prepare = nullptr, side.run = nullptr, side.clean_up = nullptr;
  return result;
}

int measure_all(const Bench& bench, const std::vector<Planned>& plans, const CommonOptions& options) {
  const std::optional<RcuGuard::Options> guard = guard_options(options);
  BenchResult all{bench.name, options.rcu, measure::read_environment(), {}};
  const bool colours = isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr;
  for (const Planned& plan : plans) {
    if (!options.only.empty() && std::ranges::find(options.only, plan.name) == options.only.end()) continue;
    std::expected<ScenarioResult, int> result = measure_one(plan, options, guard, all.environment);
    if (!result) return result.error();
    if (!options.json) {
      if (all.scenarios.empty()) std::fputs(bench::environment_text(all.environment).c_str(), stdout);
      const auto form = options.table ? measure::PerfForm::kTable : measure::PerfForm::kSummary;
      const auto colour = colours ? bench::Colour::kYes : bench::Colour::kNo;
      std::fputs(bench::scenario_text(*result, form, colour).c_str(), stdout);
      std::fflush(stdout);
    }
    all.scenarios.push_back(std::move(*result));
  }
  if (options.json) std::fputs(bench::json_text(all).c_str(), stdout);
  return 0;
}

int run_chosen(const Bench& bench, const std::vector<Planned>& plans, const CommonOptions& options) {
  for (const std::string& name : options.only) {
    if (std::ranges::find(plans, name, &Planned::name) != plans.end()) continue;
    std::fprintf(stderr, "unmoor bench: no scenario '%s'\nHINT: `unmoor bench %s --list` lists them.\n", name.c_str(),
                 bench.name);
    return 1;
  }
  if (options.list) {
    for (const Planned& plan : plans)
      std::printf("%-12s %s\n", plan.name.c_str(), plan.description.c_str());
    return 0;
  }
  int signal = 0;
  int code = 0;
  {
    const measure::InterruptsNoted noted;
    code = measure_all(bench, plans, options);
    signal = measure::interrupted();
  }
  if (signal != 0) raise(signal);  // everything is put back: end as the signal would have
  return code;
}

}  // namespace

int run_bench(int argc, char** argv) {
  CLI::App app("Measures unmounting, side by side. See unmoor-bench(1).", "unmoor bench");
  app.require_subcommand(1);
  CommonOptions options;
  int code = 0;
  for (const Bench& bench : kBenches) {
    CLI::App* const command = app.add_subcommand(bench.name, bench.summary);
    add_common(*command, options);
    command->callback([&code, &options, &bench, plans = bench.set_up(*command)] {
      code = run_chosen(bench, plans(unmoor_program), options);
    });
  }
  CLI11_PARSE(app, argc, argv);
  return code;
}

}  // namespace unmoor::cli
