// SPDX-License-Identifier: MIT
#include "kernel/doctor/hung_server.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace unmoor::test {
namespace {

constexpr std::size_t kLargestRequest = 1 << 17;

// The first request is FUSE_INIT; without its answer nobody's request would be sent.
bool answer_init(int device) {
  static std::array<char, kLargestRequest> request;
  if (read(device, request.data(), request.size()) < static_cast<ssize_t>(sizeof(fuse_in_header))) return false;
  fuse_in_header head{};
  std::memcpy(&head, request.data(), sizeof head);
  struct {
    fuse_out_header head;
    fuse_init_out body;
  } answer{};
  answer.head.len = sizeof answer;
  answer.head.unique = head.unique;
  answer.body.major = FUSE_KERNEL_VERSION;
  answer.body.minor = 31;
  answer.body.max_write = 4096;
  return head.opcode == FUSE_INIT && write(device, &answer, sizeof answer) == static_cast<ssize_t>(sizeof answer);
}

}  // namespace

HungServer::HungServer(const std::string& directory) : directory_(directory) {
  device_.reset(open("/dev/fuse", O_RDWR | O_CLOEXEC));
  if (!device_) {
    refusal_ = std::string("/dev/fuse: ") + std::strerror(errno);
    return;
  }
  const std::string options = "fd=" + std::to_string(device_.get()) +
                              ",rootmode=40000,user_id=" + std::to_string(getuid()) +
                              ",group_id=" + std::to_string(getgid());
  if (mount("hung", directory.c_str(), "fuse", 0, options.c_str()) != 0) {
    refusal_ = std::string("mount -t fuse: ") + std::strerror(errno);
    return;
  }
  if (!answer_init(device_.get())) refusal_ = "no FUSE_INIT";
}

void HungServer::let_somebody_wait() {
  waiter_ = fork();
  if (waiter_ == 0) {
    device_.reset();
    struct stat facts{};
    _exit(stat(directory_.c_str(), &facts) == 0 ? 0 : 1);
  }
  pollfd request{.fd = device_.get(), .events = POLLIN, .revents = 0};
  poll(&request, 1, 10000);
}

HungServer::~HungServer() {
  device_.reset();
  if (waiter_ > 0) waitpid(waiter_, nullptr, 0);
  if (refusal_.empty()) umount2(directory_.c_str(), MNT_DETACH);
}

}  // namespace unmoor::test
