// SPDX-License-Identifier: MIT
// Runs a whole program and keeps what it says; on a terminal of a chosen width where the test is about terminals.
#pragma once

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <poll.h>
#include <string>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace unmoor::test {

struct Ran {
  int code = -1;  // exit code; minus the signal's number
  std::string out{};
  std::string err{};
  std::chrono::milliseconds took{};
};

inline std::string file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

[[noreturn]] inline void exec_words(std::vector<std::string>& words) {
  std::vector<char*> argv;
  for (std::string& word : words)
    argv.push_back(word.data());
  argv.push_back(nullptr);
  execv(argv[0], argv.data());
  _exit(127);
}

inline int exit_code_of(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// words[0] is a path. Killed after `limit`, which no answer should need.
inline Ran run_program(std::vector<std::string> words, std::chrono::seconds limit = std::chrono::seconds(60)) {
  std::array<std::string, 2> names{"/tmp/unmoor-out-XXXXXX", "/tmp/unmoor-err-XXXXXX"};
  std::array<int, 2> files{mkstemp(names[0].data()), mkstemp(names[1].data())};
  const auto begun = std::chrono::steady_clock::now();
  const pid_t child = fork();
  if (child == 0) {
    alarm(static_cast<unsigned>(limit.count()));
    dup2(open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
    dup2(files[0], STDOUT_FILENO);
    dup2(files[1], STDERR_FILENO);
    close(files[0]);
    close(files[1]);
    exec_words(words);
  }
  Ran ran;
  ran.code = exit_code_of(child);
  ran.took = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begun);
  ran.out = file_text(names[0]);
  ran.err = file_text(names[1]);
  for (std::size_t i = 0; i < names.size(); ++i) {
    close(files[i]);
    unlink(names[i].c_str());
  }
  return ran;
}

// The same with a terminal for its output; all of it is in `out`, line ends as the terminal has them (CR LF). No
// terminal to be had: code -1.
inline Ran run_on_terminal(std::vector<std::string> words, unsigned short columns) {
  Ran ran;
  const int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0) return ran;
  const int slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (slave < 0) return ran;
  const winsize size{.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
  ioctl(slave, TIOCSWINSZ, &size);
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
      dup2(slave, fd);
    exec_words(words);
  }
  close(slave);
  std::array<char, 4096> buffer;
  for (ssize_t got; (got = read(master, buffer.data(), buffer.size())) > 0 || (got < 0 && errno == EINTR);)
    ran.out.append(buffer.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  close(master);
  ran.code = exit_code_of(child);
  return ran;
}

}  // namespace unmoor::test
