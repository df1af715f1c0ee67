// SPDX-License-Identifier: MIT
// A child process that runs a function, says when it is ready, and is killed and reaped by its pid.
#pragma once

#include <cerrno>
#include <csignal>
#include <functional>
#include <sys/wait.h>
#include <unistd.h>

namespace unmoor::test {

class Child {
 public:
  // `body` runs in the child with a function to call when it is ready; its return value is the exit code. The child
  // leads a process group of its own.
  explicit Child(const std::function<int(const std::function<void()>& ready)>& body) {
    int ends[2];
    if (pipe(ends) != 0) return;
    pid_ = fork();
    if (pid_ == 0) {
      close(ends[0]);
      setpgid(0, 0);
      const int code = body([&] {
        const char byte = 1;
        (void)!write(ends[1], &byte, 1);
        close(ends[1]);
      });
      _exit(code);
    }
    close(ends[1]);
    char byte = 0;
    ready_ = read(ends[0], &byte, 1) == 1;
    close(ends[0]);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      (void)wait();
    }
  }

  // False when the child ended without calling ready().
  [[nodiscard]] bool ready() const { return ready_; }
  [[nodiscard]] pid_t pid() const { return pid_; }
  // Waits for its end; the status as waitpid(2) gives it, -1 when it was reaped before.
  [[nodiscard]] int wait() {
    int status = -1;
    while (pid_ > 0 && waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = 0;
    return status;
  }

 private:
  pid_t pid_ = 0;
  bool ready_ = false;
};

}  // namespace unmoor::test
