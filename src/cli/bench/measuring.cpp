// SPDX-License-Identifier: MIT
#include "cli/bench/measuring.h"

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

#include <fmt/format.h>

#include "cli/bench/result.h"
#include "measure/rcu_guard.h"

namespace unmoor::cli::bench {
namespace {

using measure::MountNamespace;
using measure::RcuGuard;

// Why there is no result.
struct Refusal {
  enum class Next : std::uint8_t { kTry, kLeave };
  std::string why;   // empty: a signal
  std::string hint;  // may be empty
  Next next = Next::kTry;
};

std::string words(const Error& error) {
  return fmt::format("{} {}: {}", error.doing, error.object, std::strerror(error.code));
}

Refusal knobs_refused(const Error& error) {
  if (error.code == EBUSY)
    return {error.object + ": another measurement is under way", "--wait=SECONDS waits for it.", Refusal::Next::kLeave};
  const bool rights = error.code == EACCES || error.code == EPERM || error.code == EROFS;
  return {words(error),
          rights ? "--rcu=normal and --rcu=expedited change the whole machine and need root and a writable /sys." : "",
          Refusal::Next::kLeave};
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

Refusal no_place(const Error& error) {
  return {words(error), error.code == EPERM ? "this needs root, or user namespaces for ordinary users." : ""};
}

// A table of kinds, in a private place that is gone when it returns.
std::expected<KindTable, Refusal> look_one(const Planned& plan) {
  const Result<measure::Scratch> scratch = measure::Scratch::make(MountNamespace::kPrivate);
  if (!scratch) return std::unexpected(no_place(scratch.error()));
  Result<KindTable> table = plan.look();
  if (table) return std::move(*table);
  if (table.error().code == EINTR) return std::unexpected(Refusal{"", "", Refusal::Next::kLeave});
  return std::unexpected(Refusal{words(table.error()), ""});
}

// One scenario in its place: mounts and knobs are back when it returns.
std::expected<ScenarioResult, Refusal> measure_one(const Planned& plan, const CommonOptions& options,
                                                   measure::Environment& environment) {
  MountNamespace where = plan.where;
  if (options.private_only || geteuid() != 0) where = MountNamespace::kPrivate;
  const Result<measure::Scratch> scratch = measure::Scratch::make(where);
  if (!scratch) return std::unexpected(no_place(scratch.error()));
  const Result<measure::Scenario> scenario = plan.make();
  if (!scenario) return std::unexpected(Refusal{words(scenario.error()), ""});
  std::optional<RcuGuard> guard;
  if (const std::optional<RcuGuard::Options> wanted = guard_options(options)) {
    Result<RcuGuard> set = RcuGuard::set(*wanted);
    if (!set) return std::unexpected(knobs_refused(set.error()));
    guard.emplace(std::move(*set));
  }
  const measure::RcuKnobs knobs = measure::read_rcu_knobs(kernel::SystemCalls::real());
  environment.rcu_normal = knobs.normal;
  environment.rcu_expedited = knobs.expedited;
  const int runs = options.runs.value_or(scenario->runs);
  Result<measure::Measured> measured = measure::run_scenario(*scenario, runs, progress_of(plan, runs));
  if (!measured) {
    if (measured.error().code == EINTR) return std::unexpected(Refusal{"", "", Refusal::Next::kLeave});
    return std::unexpected(Refusal{words(measured.error()), ""});
  }
  ScenarioResult result{plan.bench, *scenario, std::move(*measured),
                        where == MountNamespace::kOwn ? "own mount namespace" : "private mount namespace",
                        guard && guard->disturbed()};
  for (measure::Side& side : result.scenario.sides)  // what a side holds belongs to the scratch that ends here
    side.prepare = nullptr, side.run = nullptr, side.clean_up = nullptr;
  return result;
}

void print_heading(const BenchResult& all) {
  if (all.scenarios.empty() && !all.kinds) std::fputs(environment_text(all).c_str(), stdout);
}

void print(const BenchResult& all, const ScenarioResult& result, const CommonOptions& options) {
  const bool colours = isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr;
  print_heading(all);
  const auto form = options.table ? measure::PerfForm::kTable : measure::PerfForm::kSummary;
  std::fputs(scenario_text(result, form, colours ? Colour::kYes : Colour::kNo).c_str(), stdout);
  std::fflush(stdout);
}

void print(const BenchResult& all, const Planned& plan, const KindTable& table) {
  print_heading(all);
  std::printf("\n%s: %s\n%s", plan.name.c_str(), plan.description.c_str(), kinds_text(table).c_str());
  std::fflush(stdout);
}

void complain(const Planned& plan, const Refusal& refusal) {
  const std::string subject = refusal.next == Refusal::Next::kTry ? plan.name + ": " : "";
  std::fprintf(stderr, "unmoor bench: %s%s\n", subject.c_str(), refusal.why.c_str());
  if (!refusal.hint.empty()) std::fprintf(stderr, "HINT: %s\n", refusal.hint.c_str());
}

}  // namespace

int measure_all(const std::string& asked, const std::vector<Planned>& plans, const CommonOptions& options) {
  BenchResult all{asked, options.rcu, UNMOOR_VERSION, measure::read_environment(), {}, {}};
  int code = 0;
  for (const Planned& plan : plans) {
    std::optional<Refusal> refused;
    if (plan.look) {
      std::expected<KindTable, Refusal> table = look_one(plan);
      if (table && !options.json) print(all, plan, *table);
      if (table) all.kinds = std::move(*table);
      if (!table) refused = std::move(table.error());
    } else {
      std::expected<ScenarioResult, Refusal> result = measure_one(plan, options, all.environment);
      if (result && !options.json) print(all, *result, options);
      if (result) all.scenarios.push_back(std::move(*result));
      if (!result) refused = std::move(result.error());
    }
    if (!refused) continue;
    code = 1;
    const Refusal& refusal = *refused;
    if (!refusal.why.empty()) complain(plan, refusal);
    if (refusal.next == Refusal::Next::kLeave) return code;
    all.not_measured.push_back({plan.bench, plan.name, refusal.why});
  }
  if (options.json) std::fputs(json_text(all).c_str(), stdout);
  return code;
}

}  // namespace unmoor::cli::bench
