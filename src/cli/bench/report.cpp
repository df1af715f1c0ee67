// SPDX-License-Identifier: MIT
#include "cli/bench/report.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/bench/result.h"

namespace unmoor::cli::bench {
namespace {

struct Options {
  std::vector<std::string> files;
  std::string svg;
};

int complain(const std::string& file, const std::string& why) {
  std::fprintf(stderr, "unmoor bench report: %s: %s\n", file.c_str(), why.c_str());
  return 1;
}

// Everything in a file ("-": standard input).
std::expected<std::string, std::string> contents(const std::string& file) {
  using Iterator = std::istreambuf_iterator<char>;
  if (file == "-") return std::string(Iterator(std::cin), Iterator());
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) return std::unexpected(std::strerror(EISDIR));
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return std::unexpected(std::strerror(errno));
  return std::string(Iterator(stream), Iterator());
}

// Parts of one measurement become one result: what follows a result of the same programs in the same environment.
void add(std::vector<BenchResult>& results, BenchResult&& next) {
  BenchResult* const last = results.empty() ? nullptr : &results.back();
  if (last == nullptr || last->environment != next.environment || last->unmoor != next.unmoor) {
    results.push_back(std::move(next));
    return;
  }
  std::ranges::move(next.scenarios, std::back_inserter(last->scenarios));
  std::ranges::move(next.not_measured, std::back_inserter(last->not_measured));
}

int run(const Options& options) {
  std::vector<BenchResult> results;
  for (const std::string& file : options.files) {
    const std::expected<std::string, std::string> text = contents(file);
    if (!text) return complain(file, text.error());
    std::expected<BenchResult, std::string> result = from_json(*text);
    if (!result) {
      (void)complain(file, "not a result of unmoor bench: " + result.error());
      std::fputs("HINT: `unmoor bench all --json >FILE` makes one.\n", stderr);
      return 1;
    }
    add(results, std::move(*result));
  }
  std::string picture;
  if (!options.svg.empty()) {
    std::ofstream out(options.svg, std::ios::binary);
    out << svg_text(results);
    if (!out.flush()) return complain(options.svg, std::strerror(errno));
    picture = std::filesystem::path(options.svg).filename();
  }
  std::fputs(markdown_text(results, picture).c_str(), stdout);
  if (std::fflush(stdout) != 0) return complain("standard output", std::strerror(errno));
  return 0;
}

}  // namespace

void add_report(CLI::App& app, int& code) {
  CLI::App* const command = app.add_subcommand("report", "tables and a picture from files of --json");
  const auto options = std::make_shared<Options>();
  command->add_option("FILE", options->files, "what `unmoor bench ... --json` printed; -: standard input")->required();
  command->add_option("--svg", options->svg, "also draw every run, into this file");
  command->callback([&code, options] { code = run(*options); });
}

}  // namespace unmoor::cli::bench
