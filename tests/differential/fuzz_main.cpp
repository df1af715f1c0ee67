// SPDX-License-Identifier: MIT
// unmoor-fuzz [-n OPERATIONS] [-s FIRST_SEED] [-j JOBS] [-x WORD] [-l] [-1]: random mount operations on the kernel and
// on the tree, until OPERATIONS have been compared. A difference is cut down and printed as a script. -x leaves out the
// operations with that word, in which an older kernel is known to differ, so that the others are seen. The last line is
// `N operations, D divergences`; exit code 1 if D > 0.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <poll.h>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "cli/tree/kernel_runner.h"
#include "cli/tree/script.h"
#include "cli/tree/tree_runner.h"
#include "differential/generator.h"
#include "differential/shrink.h"

namespace unmoor::differential {
namespace {

struct Options {
  std::uint64_t operations = 100000;
  std::uint64_t first_seed = 1;
  unsigned jobs = std::max(1U, std::thread::hardware_concurrency());
  ListEvery every = ListEvery::kFourthStep;
  bool first_only = false;
  std::vector<std::string> left_out;
};

// The word of an operation, behind `in NAMESPACE`.
std::string word_of(const cli::tree::Operation& operation) {
  std::istringstream line(cli::tree::script_line(operation));
  std::string word;
  line >> word;
  if (word == "in") line >> word >> word;
  return word;
}

// What a job tells the parent, one line of text in a pipe each.
struct Report {
  std::uint64_t compared;
  std::uint64_t diverged;
  bool broken;
};

// One job: seeds `first`, `first` + step, ... in a process of its own, since the kernel's side forks.
void run_job(const Options& options, unsigned job, int out) {
  const Start kernel = start_of<cli::tree::KernelRunner>();
  const Start tree = start_of<cli::tree::TreeRunner>();
  const std::uint64_t share = options.operations / options.jobs + 1;
  std::uint64_t done = 0;
  for (std::uint64_t seed = options.first_seed + job; done < share; seed += options.jobs) {
    Report report{};
    Script script = generate(seed);
    if (!options.left_out.empty())
      std::erase_if(script, [&](const cli::tree::Operation& operation) {
        return std::ranges::find(options.left_out, word_of(operation)) != options.left_out.end();
      });
    const Result<Comparison> comparison = compare(kernel, tree, script, options.every);
    if (!comparison) {
      std::fprintf(stderr, "unmoor-fuzz: seed %llu: %s %s: %s\n", static_cast<unsigned long long>(seed),
                   comparison.error().doing, comparison.error().object.c_str(),
                   std::to_string(comparison.error().code).c_str());
      report.broken = true;
      static_cast<void>(::write(out, &report, sizeof report));
      return;
    }
    report.compared = comparison->compared;
    done += comparison->compared;
    if (comparison->divergence) {
      report.diverged = 1;
      if (options.first_only) {
        static_cast<void>(::write(out, &report, sizeof report));
        return;
      }
      Script prefix(script.begin(), script.begin() + static_cast<std::ptrdiff_t>(comparison->divergence->step) + 1);
      const Result<Script> small = shrink(kernel, tree, prefix);
      const Script& shown = small ? *small : prefix;
      const Result<Comparison> again = compare(kernel, tree, shown, ListEvery::kStep);
      std::string text = "# seed " + std::to_string(seed) + ": the kernel and the tree differ after the last line\n";
      text += script_text(shown);
      const bool seen_again = again && again->divergence;
      text += "# kernel here, tree there: " + (seen_again ? again : comparison)->divergence->message + "\n";
      std::fputs(text.c_str(), stdout);
      std::fflush(stdout);
    }
    if (::write(out, &report, sizeof report) != sizeof report) return;
  }
}

int run(const Options& options) {
  if (const Result<cli::tree::KernelRunner> kernel = cli::tree::KernelRunner::start(); !kernel) {
    std::fprintf(stderr, "unmoor-fuzz: no private mount namespaces here: %s\n", std::strerror(kernel.error().code));
    return 77;
  }
  int pipe_fds[2];
  if (::pipe(pipe_fds) != 0) return 2;
  std::vector<pid_t> jobs;
  for (unsigned job = 0; job < options.jobs; ++job) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::close(pipe_fds[0]);
      run_job(options, job, pipe_fds[1]);
      std::exit(0);
    }
    if (pid > 0) jobs.push_back(pid);
  }
  ::close(pipe_fds[1]);
  std::uint64_t compared = 0;
  std::uint64_t diverged = 0;
  bool broken = jobs.size() != options.jobs;
  const auto start = std::chrono::steady_clock::now();
  auto next = start + std::chrono::seconds(10);
  Report report{};
  while (::read(pipe_fds[0], &report, sizeof report) == sizeof report) {
    compared += report.compared;
    diverged += report.diverged;
    broken = broken || report.broken;
    const auto now = std::chrono::steady_clock::now();
    if (now < next) continue;
    next = now + std::chrono::seconds(10);
    const double seconds = std::chrono::duration<double>(now - start).count();
    std::fprintf(stderr, "%llu of %llu operations, %.0f a second, %llu divergences\n",
                 static_cast<unsigned long long>(compared), static_cast<unsigned long long>(options.operations),
                 static_cast<double>(compared) / seconds, static_cast<unsigned long long>(diverged));
  }
  for (const pid_t pid : jobs) {
    int status = 0;
    ::waitpid(pid, &status, 0);
    broken = broken || status != 0;
  }
  std::printf("%llu operations, %llu divergences\n", static_cast<unsigned long long>(compared),
              static_cast<unsigned long long>(diverged));
  if (broken) return 2;
  return diverged == 0 ? 0 : 1;
}

}  // namespace
}  // namespace unmoor::differential

int main(int argc, char** argv) {
  unmoor::differential::Options options;
  for (int option = 0; (option = ::getopt(argc, argv, "n:s:j:x:l1")) != -1;) {
    switch (option) {
      case 'n':
        options.operations = std::strtoull(optarg, nullptr, 10);
        break;
      case 's':
        options.first_seed = std::strtoull(optarg, nullptr, 10);
        break;
      case 'j':
        options.jobs = static_cast<unsigned>(std::max(1L, std::strtol(optarg, nullptr, 10)));
        break;
      case 'x':
        options.left_out.emplace_back(optarg);
        break;
      case 'l':
        options.every = unmoor::differential::ListEvery::kStep;
        break;
      case '1':
        options.first_only = true;
        break;
      default:
        std::fputs(
            "usage: unmoor-fuzz [-n OPERATIONS] [-s FIRST_SEED] [-j JOBS] [-x WORD (leave out)]... [-l (compare mounts "
            "at each "
            "step)] [-1]\n",
            stderr);
        return 2;
    }
  }
  return unmoor::differential::run(options);
}
