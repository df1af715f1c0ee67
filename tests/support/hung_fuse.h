// SPDX-License-Identifier: MIT
// A FUSE filesystem whose server answers the first request (INIT) and nothing ever after. Ended by destruction.
#pragma once

#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <linux/fuse.h>
#include <string>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace unmoor::test {

class HungFuse {
 public:
  explicit HungFuse(const std::string& directory) : directory_(directory) {
    const int device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    if (device < 0) return;
    const std::string options = "fd=" + std::to_string(device) + ",rootmode=40000,user_id=0,group_id=0,allow_other";
    mounted_ = mount("hung", directory.c_str(), "fuse.hung", 0, options.c_str()) == 0;
    if (mounted_) {
      server_ = fork();
      if (server_ == 0) serve(device);
    }
    close(device);
  }
  HungFuse(const HungFuse&) = delete;
  HungFuse& operator=(const HungFuse&) = delete;
  ~HungFuse() {
    end(server_);  // its descriptor was the last one: the kernel fails what is pending
    end(victim_);
    if (mounted_) umount2(directory_.c_str(), MNT_DETACH);
  }

  [[nodiscard]] bool ready() const { return mounted_; }
  // Whoever waits gets ENOTCONN from now on.
  void end_server() {
    end(server_);
    server_ = 0;
  }
  // A process that sits in the filesystem, waiting for the server for good.
  void add_victim() {
    victim_ = fork();
    if (victim_ != 0) return;
    struct ::stat facts{};
    _exit(stat((directory_ + "/name").c_str(), &facts));
  }

 private:
  static void end(pid_t pid) {
    if (pid <= 0) return;
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
  [[noreturn]] static void serve(int device) {
    std::vector<char> request(1 << 20);
    if (read(device, request.data(), request.size()) > 0) {
      fuse_in_header in{};
      std::memcpy(&in, request.data(), sizeof in);
      struct {
        fuse_out_header header;
        fuse_init_out init;
      } reply{};
      reply.header.unique = in.unique;
      reply.header.len = sizeof reply;
      reply.init.major = 7;
      reply.init.minor = 31;
      reply.init.max_write = 65536;
      if (write(device, &reply, sizeof reply) < 0) _exit(1);
    }
    for (;;)
      pause();
  }

  std::string directory_;
  bool mounted_ = false;
  pid_t server_ = 0;
  pid_t victim_ = 0;
};

}  // namespace unmoor::test
