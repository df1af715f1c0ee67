// SPDX-License-Identifier: MIT
#include "cli/bench/planted_holder.h"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <climits>

namespace unmoor::cli::bench {
namespace {

using kernel::UniqueFd;

// unmoor-hold lies beside the program that this is.
Result<std::string> program() {
  std::array<char, PATH_MAX> self{};
  const ssize_t length = readlink("/proc/self/exe", self.data(), self.size());
  if (length < 0) return fail(errno, "readlink", "/proc/self/exe");
  const std::string path(self.data(), static_cast<std::size_t>(length));
  return path.substr(0, path.rfind('/') + 1) + "unmoor-hold";
}

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return fail(errno, "pipe");
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

}  // namespace

Result<PlantedHolder> PlantedHolder::plant(const std::string& kind, const std::string& directory) {
  Result<std::string> path = program();
  if (!path) return std::unexpected(path.error());
  Result<Pipe> in = make_pipe();
  Result<Pipe> out = make_pipe();
  if (!in || !out) return fail(EMFILE, "pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in->read.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out->write.get(), STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  // A group of its own: an interrupt from the terminal must not end it before it has put back what the kernel keeps.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  std::string kind_word = kind;
  std::string directory_word = directory;
  const std::array<char*, 4> argv{path->data(), kind_word.data(), directory_word.data(), nullptr};
  PlantedHolder holder;
  const int refused = posix_spawn(&holder.pid_, path->c_str(), &actions, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (refused != 0) return fail(refused, "run", *path);
  holder.tell_ = std::move(in->write);
  out->write.reset();
  // "ready", or the end of its output.
  char first = 0;
  ssize_t got = 0;
  do {
    got = read(out->read.get(), &first, 1);
  } while (got < 0 && errno == EINTR);
  if (got != 1) return fail(ENOTSUP, "hold", kind);
  return holder;
}

PlantedHolder::~PlantedHolder() {
  tell_.reset();
  while (pid_ > 0 && waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace unmoor::cli::bench
