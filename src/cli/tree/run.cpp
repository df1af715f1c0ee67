// SPDX-License-Identifier: MIT
#include "cli/tree/run.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/tree/errno_name.h"
#include "cli/tree/kernel_runner.h"
#include "cli/tree/script.h"
#include "cli/tree/tree_runner.h"

namespace unmoor::cli {
namespace {

using tree::Operation;
using unmoor::tree::ReleasePolicy;

const std::map<std::string, ReleasePolicy> kPolicies{{"synchronous", ReleasePolicy::kSynchronous},
                                                     {"skip-wait", ReleasePolicy::kSkipWait},
                                                     {"deferred", ReleasePolicy::kDeferred},
                                                     {"on-demand", ReleasePolicy::kOnDemand}};

std::optional<std::string> read_all(const std::string& path) {
  if (path == "-") return std::string(std::istreambuf_iterator<char>(std::cin), {});
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

nlohmann::json to_json(const tree::Listing& listing) {
  nlohmann::json mounts = nlohmann::json::array();
  for (const tree::Listed& mount : listing) {
    nlohmann::json one{{"mount_point", mount.mount_point},
                       {"root", mount.root},
                       {"filesystem", mount.filesystem},
                       {"options", mount.options}};
    if (mount.shared != 0) one["shared"] = mount.shared;
    if (mount.master != 0) one["master"] = mount.master;
    if (mount.unbindable) one["unbindable"] = true;
    mounts.push_back(std::move(one));
  }
  return mounts;
}

// What a script has to say, on either side.
class Report {
 public:
  explicit Report(bool json) : json_(json) {}

  void failed(const Operation& operation, int code) {
    if (json_) {
      lines_.push_back({{"line", operation.line}, {"errno", tree::errno_name(code)}});
    } else {
      std::printf("%d: %s\n", operation.line, tree::errno_name(code).c_str());
    }
  }
  void listing(const Operation& operation, const tree::Listing& listing) {
    if (json_) {
      lines_.push_back({{"line", operation.line}, {"namespace", operation.name}, {"mounts", to_json(listing)}});
    } else {
      std::fputs(tree::print_listing(listing).c_str(), stdout);
    }
  }
  void finish() {
    if (json_) std::printf("%s\n", lines_.dump(2).c_str());
  }

 private:
  bool json_;
  nlohmann::json lines_ = nlohmann::json::array();
};

template <typename Runner>
int run_script(Result<Runner> runner, const std::vector<Operation>& script, Report& report) {
  const auto broken = [](const Error& error) {
    std::fprintf(stderr, "unmoor tree: %s %s: %s\n", error.doing, error.object.c_str(), std::strerror(error.code));
    if (error.code == EPERM) std::fputs("HINT: this needs root, or user namespaces that anybody may make.\n", stderr);
    return 2;
  };
  if (!runner) return broken(runner.error());
  int exit_code = 0;
  for (const Operation& operation : script) {
    const Result<int> code = runner->run(operation);
    if (!code) return broken(code.error());
    if (*code != 0) report.failed(operation, *code);
    if (operation.expected_errno && *operation.expected_errno != *code) {
      std::fprintf(stderr, "unmoor tree: line %d: %s, and the script says %s\n", operation.line,
                   tree::errno_name(*code).c_str(), tree::errno_name(*operation.expected_errno).c_str());
      exit_code = 1;
    }
    if (operation.verb != tree::Verb::kMountInfo || *code != 0) continue;
    const Result<tree::Listing> listing = runner->list(operation.name);
    if (!listing) return broken(listing.error());
    report.listing(operation, *listing);
  }
  report.finish();
  return exit_code;
}

}  // namespace

int run_tree(int argc, char** argv) {
  CLI::App app{"Runs a script of mount operations, in the mount tree of libunmoor-tree or on the running kernel.",
               "unmoor tree"};
  std::string file;
  std::string side = "tree";
  std::string rcu;
  auto policy = ReleasePolicy::kOnDemand;
  bool json = false;
  app.add_option("FILE", file, "the script; - is standard input")->required();
  app.add_option("--on", side, "tree, or kernel: private mount namespaces of the running kernel")
      ->check(CLI::IsMember({"tree", "kernel"}));
  CLI::Option* const release =
      app.add_option("--release", policy,
                     "who releases what is unmounted, and when (tree): synchronous, skip-wait, "
                     "deferred, on-demand")
          ->transform(CLI::CheckedTransformer(kPolicies));
  CLI::Option* const modes = app.add_option(
      "--rcu", rcu, "grace periods (tree): normal, expedited, normal_after_boot, realtime, or several with commas");
  app.add_flag("--json", json, "print one JSON array");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (side == "kernel" && (*release || *modes)) {
    std::fputs("unmoor tree: --release and --rcu are the tree's; the kernel has its own\n", stderr);
    return 2;
  }
  const std::optional<rcu::Modes> parsed_modes = rcu::parse_modes(rcu);
  if (!parsed_modes) {
    std::fprintf(stderr,
                 "unmoor tree: no such grace periods: %s\nHINT: normal, expedited, normal_after_boot, realtime\n",
                 rcu.c_str());
    return 2;
  }
  const std::optional<std::string> text = read_all(file);
  if (!text) {
    std::fprintf(stderr, "unmoor tree: %s: %s\n", file.c_str(), std::strerror(errno));
    return 2;
  }
  const auto script = tree::parse_script(*text);
  if (!script) {
    std::fprintf(stderr, "unmoor tree: %s:%d: %s\n", file.c_str(), script.error().line, script.error().message.c_str());
    return 2;
  }
  Report report(json);
  if (side == "kernel") return run_script(tree::KernelRunner::start(), *script, report);
  unmoor::tree::UniverseOptions options;
  options.policy = policy;
  options.grace_periods = *parsed_modes;
  return run_script(tree::TreeRunner::start(options), *script, report);
}

}  // namespace unmoor::cli
