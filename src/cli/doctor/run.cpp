// SPDX-License-Identifier: MIT
#include "cli/doctor/run.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "cli/doctor/report.h"

namespace unmoor::cli {

int run_doctor(int argc, char** argv) {
  CLI::App app{"Says why unmounting is slow or dangerous on this machine, and what helps. Changes nothing.",
               "unmoor doctor"};
  bool json = false;
  app.add_flag("--json", json, "print one JSON object");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const Result<doctor::Facts> facts = doctor::gather(kernel::SystemCalls::real());
  if (!facts) {
    std::fprintf(stderr, "unmoor doctor: cannot read the mount table: %s\n", std::strerror(facts.error().code));
    return 2;
  }
  const std::vector<doctor::Finding> findings = doctor::diagnose(*facts);
  const bool colours = isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr;
  const std::string report =
      json ? doctor::json_report(*facts, findings)
           : doctor::text_report(*facts, findings, colours ? doctor::Colour::kYes : doctor::Colour::kNo);
  std::fputs(report.c_str(), stdout);
  return findings.empty() ? 0 : 1;
}

}  // namespace unmoor::cli
