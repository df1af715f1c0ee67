// SPDX-License-Identifier: MIT
// unmoor wait TARGET: until its filesystem is gone.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/who/holders_json.h"
#include "cli/who/holders_text.h"
#include "cli/who/let_go.h"
#include "cli/who/progress.h"
#include "cli/who/run.h"
#include "gone/wait_gone.h"

namespace unmoor::cli {
namespace {

constexpr int kGone = 0;
constexpr int kUsage = 1;
constexpr int kSystem = 2;
constexpr int kStillMounted = 32;
constexpr int kTimedOut = 124;

int exit_code(gone::Outcome outcome) {
  switch (outcome) {
    case gone::Outcome::kGone:
      return kGone;
    case gone::Outcome::kStillMounted:
      return kStillMounted;
    case gone::Outcome::kTimedOut:
      break;
  }
  return kTimedOut;
}

const char* word_for(gone::Outcome outcome) {
  switch (outcome) {
    case gone::Outcome::kGone:
      return "gone";
    case gone::Outcome::kStillMounted:
      return "mounted";
    case gone::Outcome::kTimedOut:
      break;
  }
  return "held";
}

void print_json(const std::string& name, const gone::Verdict& verdict) {
  nlohmann::ordered_json json{
      {"target", name}, {"outcome", word_for(verdict.outcome)}, {"device_free", verdict.device_was_free}};
  if (verdict.inquiry) json.update(to_json(*verdict.inquiry));
  std::fputs(to_text(json).c_str(), stdout);
}

void print_text(const std::string& name, const gone::Verdict& verdict) {
  if (verdict.outcome == gone::Outcome::kGone) return;
  std::fprintf(stderr, "unmoor wait: %s: %s\n", printable(name).c_str(),
               verdict.outcome == gone::Outcome::kStillMounted ? "still mounted" : "not gone in time");
  if (!verdict.inquiry) return;
  const TableOptions options{.width = terminal_width(STDERR_FILENO), .at_most = 20};
  for (const gone::Answer& answer : verdict.inquiry->answers)
    std::fputs(answer_text(answer, options).c_str(), stderr);
  for (const std::string& note : verdict.inquiry->notes)
    std::fprintf(stderr, "Note: %s.\n", note.c_str());
}

// The census ends here: giving its memory back takes longer than noticing that the filesystem is gone.
Result<gone::Target> find_target(const kernel::SystemCalls& calls, const std::string& name) {
  const Result<gone::Census> census = gone::Census::take(calls);
  if (!census) return std::unexpected(census.error());
  return gone::resolve_target(*census, name, gone::AskFor::kWhatItNames);
}

int complain(const std::string& name, const Error& error) {
  std::fprintf(stderr, "unmoor wait: %s: %s: %s\n", printable(name).c_str(), error.doing, std::strerror(error.code));
  return error.code == EINVAL ? kUsage : kSystem;
}

}  // namespace

int run_wait(int argc, char** argv) {
  CLI::App app{"Waits until a filesystem is gone: shut down, its data written, its device free.", "unmoor wait"};
  std::string name;
  double timeout = -1;
  bool json = false;
  app.add_option("TARGET", name, "mount point, block device, or mount id")->required();
  app.add_option("-t,--timeout", timeout, "give up after so many seconds")->check(CLI::NonNegativeNumber);
  app.add_flag("-J,--json", json, "print JSON");
  app.footer("Exit status: 0 gone, 124 not gone in time, 32 still mounted somewhere, 1 usage, 2 system error.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsage;
  }
  gone::WaitOptions options;
  if (timeout >= 0)
    options.deadline = gone::Clock::now() + std::chrono::duration_cast<gone::Clock::duration>(
                                                std::chrono::duration<double>(std::min(timeout, 1e8)));
  const kernel::SystemCalls& calls = kernel::SystemCalls::real();
  const Result<gone::Target> target = find_target(calls, name);
  if (!target) return complain(name, target.error());
  close_inherited(calls);
  leave_directory(calls);
  Result<gone::GoneWaiter> waiter = gone::GoneWaiter::prepare(calls, *target);
  if (!waiter && waiter.error().code == ENOENT) {
    std::fprintf(stderr, "unmoor wait: %s: nothing refers to it that can be seen\n", printable(name).c_str());
    if (json) print_json(name, {.outcome = gone::Outcome::kGone});
    return kGone;
  }
  if (!waiter) return complain(name, waiter.error());
  std::optional<WriteProgress> progress(std::in_place, calls, waiter->target().block_device);
  const Result<gone::Verdict> verdict = waiter->wait(options);
  progress.reset();
  if (!verdict) return complain(name, verdict.error());
  json ? print_json(name, *verdict) : print_text(name, *verdict);
  return exit_code(verdict->outcome);
}

}  // namespace unmoor::cli
