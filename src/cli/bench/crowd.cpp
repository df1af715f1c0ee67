// SPDX-License-Identifier: MIT
#include "cli/bench/crowd.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel/unique_fd.h"

namespace unmoor::cli::bench {
namespace {

using kernel::UniqueFd;

// Adds one descriptor, or two that belong together; what it is goes by how many there are.
Result<void> add(std::vector<UniqueFd>& descriptors, const std::string& directory) {
  const std::size_t number = descriptors.size();
  std::array<int, 2> pair{-1, -1};
  switch (number % 10) {
    case 5:
      if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0) return fail(errno, "socketpair");
      break;
    case 7:
      if (pipe2(pair.data(), O_CLOEXEC) != 0) return fail(errno, "pipe");
      break;
    case 9:
      pair[0] = eventfd(0, EFD_CLOEXEC);
      if (pair[0] < 0) return fail(errno, "eventfd");
      break;
    default: {
      const std::string path = directory + "/" + std::to_string(number);
      pair[0] = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
      if (pair[0] < 0) return fail(errno, "open", path);
    }
  }
  for (const int fd : pair) {
    if (fd >= 0) descriptors.emplace_back(fd);
  }
  return {};
}

[[noreturn]] void be_one_of_them(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  for (;;)
    pause();
}

}  // namespace

Result<Crowd> Crowd::make(std::size_t processes, std::size_t descriptors, const std::string& directory) {
  std::vector<UniqueFd> shared;
  while (shared.size() < descriptors) {
    if (const Result<void> added = add(shared, directory); !added) return std::unexpected(added.error());
  }
  Crowd crowd;
  const pid_t parent = getpid();
  while (crowd.pids_.size() < processes) {
    const pid_t child = fork();
    if (child < 0) return fail(errno, "fork");
    if (child == 0) be_one_of_them(parent);
    crowd.pids_.push_back(child);
  }
  return crowd;
}

Crowd::~Crowd() {
  for (const pid_t pid : pids_)
    kill(pid, SIGKILL);
  for (const pid_t pid : pids_) {
    while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
}

}  // namespace unmoor::cli::bench
