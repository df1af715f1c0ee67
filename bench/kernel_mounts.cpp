// SPDX-License-Identifier: MIT
#include "bench/kernel_mounts.h"

#include <fstream>
#include <sched.h>
#include <string>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/fixture.h"

namespace unmoor::bench {

namespace {

bool made = false;

bool enter_namespace() {
  const auto uid = std::to_string(getuid());
  const auto gid = std::to_string(getgid());
  if (unshare(CLONE_NEWNS) != 0) {
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
    std::ofstream("/proc/self/setgroups") << "deny";
    std::ofstream("/proc/self/uid_map") << "0 " + uid + " 1";
    std::ofstream("/proc/self/gid_map") << "0 " + gid + " 1";
  }
  return mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("bench", "/tmp", "tmpfs", 0, nullptr) == 0 && chdir("/tmp") == 0;
}

bool make_mounts() {
  for (int chain = 0; chain < kChains; ++chain) {
    for (int depth = 1; depth <= kDepth; ++depth) {
      const std::string path = chain_path(chain, depth).substr(1);
      if (mkdir(path.c_str(), 0755) != 0 || mount("bench", path.c_str(), "tmpfs", 0, nullptr) != 0) return false;
    }
  }
  return true;
}

}  // namespace

void make_kernel_mounts() {
  made = enter_namespace() && make_mounts();
}

bool has_kernel_mounts() {
  return made;
}

}  // namespace unmoor::bench
