// SPDX-License-Identifier: MIT
#include <cstdio>
#include <cstring>
#include <string>
#include <unistd.h>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/who/holders_json.h"
#include "cli/who/holders_text.h"
#include "cli/who/let_go.h"
#include "cli/who/run.h"

namespace unmoor::cli {
namespace {

constexpr int kFound = 0;
constexpr int kNothingFound = 1;
constexpr int kFailed = 2;

void complain(const Error& error) {
  if (error.code == EINVAL) {
    std::fprintf(stderr,
                 "unmoor who: %s: not a mount point, a block device or a mount id\n"
                 "HINT: `unmoor who --filesystem` takes any path, and asks about the filesystem it is on.\n",
                 printable(error.object).c_str());
    return;
  }
  std::fprintf(stderr, "unmoor who: %s: %s: %s\n", printable(error.object).c_str(), error.doing,
               std::strerror(error.code));
}

}  // namespace

int run_who(int argc, char** argv) {
  CLI::App app{"Shows who holds a mount, or keeps a filesystem or its device in use, and how to make it let go.",
               "unmoor who"};
  std::vector<std::string> names;
  bool filesystem = false;
  bool json = false;
  app.add_option("TARGET", names, "mount point, block device, or mount id")->required();
  app.add_flag("-f,--filesystem", filesystem, "TARGET is any path: ask about the whole filesystem it is on");
  app.add_flag("-J,--json", json, "print JSON");
  app.footer("Exit status: 0 holders were found, 1 none was, 2 a target could not be found or read.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kFailed;
  }

  Result<gone::Census> census = gone::Census::take(kernel::SystemCalls::real());
  if (!census) {
    complain(census.error());
    return kFailed;
  }
  const auto shared = std::make_shared<gone::Census>(std::move(*census));
  std::vector<gone::Target> targets;
  bool failed = false;
  for (const std::string& name : names) {
    Result<gone::Target> target =
        gone::resolve_target(*shared, name, filesystem ? gone::AskFor::kFilesystem : gone::AskFor::kWhatItNames);
    if (!target) complain(target.error());
    failed = failed || !target;
    if (target) targets.push_back(std::move(*target));
  }
  if (targets.empty()) return kFailed;
  close_inherited(kernel::SystemCalls::real());
  leave_directory(kernel::SystemCalls::real());
  const Result<gone::Inquiry> inquiry = gone::inquire(shared, std::move(targets));
  if (!inquiry) {
    complain(inquiry.error());
    return kFailed;
  }
  bool found = false;
  for (const gone::Answer& answer : inquiry->answers)
    found = found || !answer.holders.empty();
  if (json) {
    std::fputs(to_text(to_json(*inquiry)).c_str(), stdout);
  } else {
    const TableOptions options{.width = terminal_width(STDOUT_FILENO), .at_most = 0};
    const char* between = "";
    for (const gone::Answer& answer : inquiry->answers) {
      std::printf("%s%s", between, answer_text(answer, options).c_str());
      between = "\n";
    }
    for (const std::string& note : inquiry->notes)
      std::printf("Note: %s.\n", note.c_str());
  }
  std::fflush(stdout);
  return failed ? kFailed : found ? kFound : kNothingFound;
}

}  // namespace unmoor::cli
