// SPDX-License-Identifier: MIT
// A control group of the test's own. Removed on destruction, which waits a moment for whoever still leaves it.
#pragma once

#include <cerrno>
#include <fstream>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

namespace unmoor::test {

class Cgroup {
 public:
  Cgroup() {
    for (const char* parent : {"/sys/fs/cgroup/unified", "/sys/fs/cgroup/pids", "/sys/fs/cgroup"}) {
      path_ = std::string(parent) + "/unmoor-test-" + std::to_string(getpid());
      if (access((std::string(parent) + "/cgroup.procs").c_str(), W_OK) == 0 && make()) return;
    }
    path_.clear();
  }
  Cgroup(const Cgroup&) = delete;
  Cgroup& operator=(const Cgroup&) = delete;
  ~Cgroup() {
    for (int i = 0; i < 100 && !path_.empty() && !remove() && errno == EBUSY; ++i)
      usleep(10000);
  }

  [[nodiscard]] bool ready() const { return !path_.empty(); }
  [[nodiscard]] bool make() const { return mkdir(path_.c_str(), 0755) == 0 || errno == EEXIST; }
  // errno is rmdir(2)'s.
  [[nodiscard]] bool remove() const { return rmdir(path_.c_str()) == 0; }
  // Moves the calling process into it.
  [[nodiscard]] bool join() const {
    std::ofstream procs(path_ + "/cgroup.procs");
    procs << getpid() << std::flush;
    return procs.good();
  }

 private:
  std::string path_;
};

}  // namespace unmoor::test
