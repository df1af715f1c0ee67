// SPDX-License-Identifier: MIT
#include "measure/command.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "kernel/unique_fd.h"
#include "measure/interrupt.h"

namespace unmoor::measure {
namespace {

// Where the commands' output goes: read only when one fails.
class Output {
 public:
  Output() : file_(memfd_create("output", MFD_CLOEXEC)) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions_, file_.get(), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, file_.get(), STDERR_FILENO);
  }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  ~Output() { posix_spawn_file_actions_destroy(&actions_); }

  [[nodiscard]] const posix_spawn_file_actions_t* actions() const { return &actions_; }
  [[nodiscard]] std::string text() const {
    std::array<char, 4096> part{};
    std::string text;
    for (ssize_t got; (got = pread(file_.get(), part.data(), part.size(), static_cast<off_t>(text.size()))) > 0;)
      text.append(part.data(), static_cast<std::size_t>(got));
    return text;
  }
  // No more than a person wants to see.
  [[nodiscard]] std::string complaint() const {
    std::string start = text().substr(0, 1024);
    while (!start.empty() && start.back() == '\n')
      start.pop_back();
    return start;
  }

 private:
  kernel::UniqueFd file_;
  posix_spawn_file_actions_t actions_{};
};

std::string how_it_ended(int status) {
  return WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status)) : fmt::format("exit {}", WEXITSTATUS(status));
}

// Runs the command to its end; its status as waitpid(2) gives it.
Result<int> run_to_end(const Arguments& arguments, const Output& output) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments)
    argv.push_back(const_cast<char*>(argument.c_str()));  // NOLINT: exec's signature
  argv.push_back(nullptr);
  pid_t child = 0;
  const int refused = posix_spawnp(&child, argv[0], output.actions(), nullptr, argv.data(), environ);
  if (refused != 0) return fail(refused, "run", arguments[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    if (interrupted() != 0) kill(child, SIGTERM);
  }
  return status;
}

}  // namespace

Result<double> time_command(const Arguments& arguments) {
  const Output output;
  const auto start = std::chrono::steady_clock::now();
  const Result<int> status = run_to_end(arguments, output);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  if (!status) return std::unexpected(status.error());
  if (*status != 0)
    return fail(EIO, "run",
                fmt::format("{}: {}: {}", fmt::join(arguments, " "), how_it_ended(*status), output.complaint()));
  return elapsed.count();
}

Result<std::string> output_of(const Arguments& arguments) {
  const Output output;
  const Result<int> status = run_to_end(arguments, output);
  if (!status) return std::unexpected(status.error());
  return output.text();
}

Result<void> run_command(const Arguments& arguments) {
  const Result<double> ran = time_command(arguments);
  if (!ran) return std::unexpected(ran.error());
  return {};
}

}  // namespace unmoor::measure
