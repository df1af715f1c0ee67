// SPDX-License-Identifier: MIT
// A holder planted by tests/tools/hold.c: there from construction on, gone after let_go() or destruction.
#pragma once

#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace unmoor::test {

class Planted {
 public:
  Planted(const std::string& kind, const std::string& directory) {
    int in[2];
    int out[2];
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) return;
    pid_ = fork();
    if (pid_ == 0) {
      dup2(in[0], STDIN_FILENO);
      dup2(out[1], STDOUT_FILENO);
      execl(UNMOOR_HOLD, "hold", kind.c_str(), directory.c_str(), static_cast<char*>(nullptr));
      _exit(127);
    }
    close(in[0]);
    close(out[1]);
    tell_ = in[1];
    char text[8] = "";
    for (std::size_t got = 0; got < 6;) {
      const ssize_t more = read(out[0], text + got, 6 - got);
      if (more <= 0) break;
      got += static_cast<std::size_t>(more);
    }
    close(out[0]);
    ready_ = std::strcmp(text, "ready\n") == 0;
  }
  Planted(const Planted&) = delete;
  Planted& operator=(const Planted&) = delete;
  ~Planted() { let_go(); }

  // False: this machine does not allow that kind (hold says why on stderr).
  [[nodiscard]] bool ready() const { return ready_; }
  [[nodiscard]] pid_t pid() const { return pid_; }

  void let_go() {
    if (pid_ <= 0) return;
    close(tell_);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

 private:
  pid_t pid_ = 0;
  int tell_ = -1;
  bool ready_ = false;
};

}  // namespace unmoor::test
