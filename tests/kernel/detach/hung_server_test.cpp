// SPDX-License-Identifier: MIT
// A FUSE server that stops answering: as the target, elsewhere in the table, and with a file of it open in the caller.
#include <chrono>
#include <csignal>
#include <cstring>
#include <linux/fuse.h>
#include <map>
#include <poll.h>
#include <sstream>
#include <string>
#include <string_view>

#include "kernel/detach/scratch.h"
#include "kernel/unique_fd.h"
#include "support/kernel_version.h"
#include "support/program.h"

namespace unmoor::test {
namespace {

using detach::Caller;
using detach::Defer;
using Clock = std::chrono::steady_clock;

// Serves a directory with one file in it, "file", until somebody closes that file: flush is never answered.
class ServerThatHangsOnFlush {
 public:
  explicit ServerThatHangsOnFlush(const std::string& directory) : directory_(directory) {
    kernel::UniqueFd device(open("/dev/fuse", O_RDWR | O_CLOEXEC));
    mkdir(directory.c_str(), 0755);
    const std::string options = "fd=" + std::to_string(device.get()) + ",rootmode=40000,user_id=0,group_id=0";
    mounted_ = device && mount("hung", directory.c_str(), "fuse.hung", 0, options.c_str()) == 0;
    if (!mounted_) return;
    server_ = fork();
    if (server_ == 0) serve(device.get());
  }
  // The server's end aborts the connection, and everybody who waits for it goes on.
  ~ServerThatHangsOnFlush() { stop(); }
  void stop() {
    if (server_ <= 0) return;
    kill(server_, SIGKILL);
    waitpid(server_, nullptr, 0);
    umount2(directory_.c_str(), MNT_DETACH);
    server_ = -1;
  }
  ServerThatHangsOnFlush(const ServerThatHangsOnFlush&) = delete;
  ServerThatHangsOnFlush& operator=(const ServerThatHangsOnFlush&) = delete;

  [[nodiscard]] bool mounted() const { return mounted_; }

 private:
  static std::size_t answer(const fuse_in_header& in, char* body, int& error) {
    if (in.opcode == FUSE_INIT) {
      fuse_init_out out{};
      out.major = 7;
      out.minor = 31;
      out.max_write = 65536;
      std::memcpy(body, &out, sizeof out);
      return sizeof out;
    }
    if (in.opcode == FUSE_LOOKUP) {
      fuse_entry_out out{};
      out.nodeid = 2;
      out.entry_valid = 1000;
      out.attr_valid = 1000;
      out.attr.ino = 2;
      out.attr.mode = S_IFREG | 0644;
      out.attr.nlink = 1;
      std::memcpy(body, &out, sizeof out);
      return sizeof out;
    }
    if (in.opcode == FUSE_GETATTR) {
      fuse_attr_out out{};
      out.attr.ino = in.nodeid;
      out.attr.mode = in.nodeid == 1 ? S_IFDIR | 0755 : S_IFREG | 0644;
      out.attr.nlink = 1;
      std::memcpy(body, &out, sizeof out);
      return sizeof out;
    }
    if (in.opcode == FUSE_OPEN) return sizeof(fuse_open_out);
    error = -ENOSYS;
    return 0;
  }

  [[noreturn]] static void serve(int device) {
    alignas(8) static char request[1 << 20];
    for (;;) {
      if (read(device, request, sizeof request) < 0) _exit(0);
      fuse_in_header in;
      std::memcpy(&in, request, sizeof in);
      if (in.opcode == FUSE_FLUSH) {
        for (;;)
          pause();
      }
      if (in.opcode == FUSE_FORGET || in.opcode == FUSE_BATCH_FORGET || in.opcode == FUSE_INTERRUPT) continue;
      alignas(8) char reply[4096] = {};
      fuse_out_header out{};
      int error = 0;
      const std::size_t size = sizeof out + answer(in, reply + sizeof out, error);
      out.len = static_cast<unsigned>(size);
      out.error = error;
      out.unique = in.unique;
      std::memcpy(reply, &out, sizeof out);
      static_cast<void>(write(device, reply, size));
    }
  }

  std::string directory_;
  bool mounted_ = false;
  pid_t server_ = -1;
};

#define UNMOOR_NEEDS_FUSE(server) \
  if (!(server).mounted()) GTEST_SKIP() << "needs FUSE: refused"

class DetachHung : public DetachTest {
 protected:
  static void detaches_within_a_second(const char* path, Defer defer, Caller caller) {
    const auto begun = Clock::now();
    const auto outcome =
        detach::detach_one(kernel::SystemCalls::real(), path, MNT_DETACH, {.defer = defer, .caller = caller});
    EXPECT_TRUE(outcome);
    EXPECT_LT(Clock::now() - begun, std::chrono::seconds(1));
    EXPECT_EQ(device_at(path), device_at("."));
  }
};

TEST_F(DetachHung, AsTheTarget) {
  for (const Defer defer : {Defer::kAuto, Defer::kElsewhere, Defer::kAlways}) {
    for (const Caller caller : {Caller::kLibrary, Caller::kProgram}) {
      ServerThatHangsOnFlush server("hung");
      UNMOOR_NEEDS_FUSE(server);
      detaches_within_a_second("hung", defer, caller);
    }
  }
}

// The calls of a trace, one a line. strace tells a call in two pieces when another process's came in between.
std::vector<std::string> whole_calls(const std::string& trace) {
  constexpr std::string_view kBegun = " <unfinished ...>";
  constexpr std::string_view kEnded = " resumed>";
  std::vector<std::string> calls;
  std::map<std::string, std::string> begun;  // by pid
  std::istringstream lines(trace);
  for (std::string line; std::getline(lines, line);) {
    const std::string pid = line.substr(0, line.find(' '));
    if (line.ends_with(kBegun)) {
      begun[pid] = line.substr(0, line.size() - kBegun.size());
      continue;
    }
    if (const std::size_t at = line.find(kEnded); at != std::string::npos) {
      line.replace(0, at + kEnded.size(), begun[pid]);
      begun.erase(pid);
    }
    calls.push_back(std::move(line));
  }
  for (auto& [pid, rest] : begun)
    calls.push_back(std::move(rest));
  return calls;
}

TEST(Trace, ACallInTwoPiecesIsOne) {
  EXPECT_EQ(whole_calls("7 openat(3, \"x\", O_PATH <unfinished ...>\n8 close(3) = 0\n7  <... openat resumed>) = 0\n"),
            (std::vector<std::string>{"8 close(3) = 0", "7 openat(3, \"x\", O_PATH) = 0"}));
}

// What is done to a path that leads to it, seen by strace: asked for the mount's id without its server, opened as a
// mere place, and unmounted.
TEST_F(DetachHung, ItsRootIsNeverTouched) {
  if (run_program({"/usr/bin/strace", "-f", "/bin/true"}).code != 0) GTEST_SKIP() << "needs strace";
  for (const char* const defer : {"--defer=auto", "--defer=elsewhere", "--defer=always", "--defer=never"}) {
    ServerThatHangsOnFlush server("hung-here");
    UNMOOR_NEEDS_FUSE(server);
    const Ran ran = run_program({"/usr/bin/strace", "-f", "-qq", "-y", "-o", "trace", "-e", "signal=none",
                                 UNMOOR_PROGRAM, "umount", "-l", "--json", defer, "hung-here"},
                                std::chrono::seconds(10));
    EXPECT_EQ(ran.code, 0) << defer << ran.err;
    int seen = 0;
    for (const std::string& line : whole_calls(file_text("trace"))) {
      if (line.find("hung-here") == std::string::npos || line.find("execve") != std::string::npos) continue;
      const auto has = [&](const char* word) { return line.find(word) != std::string::npos; };
      const bool unasked = has(" statx(") && has("AT_STATX_DONT_SYNC");
      const bool place = has(" openat(") && has("O_PATH");
      const bool of_a_descriptor = has(" close(") || has(" readlinkat(") || has(" umount2(");
      EXPECT_TRUE(unasked || place || of_a_descriptor) << line;
      seen += unasked || place ? 1 : 0;
    }
    EXPECT_GT(seen, 0) << "the trace shows nothing";
  }
}

TEST_F(DetachHung, AFileOfItOpenInTheCaller) {
  if (!kernel_at_least(6, 18))
    GTEST_SKIP() << "needs Linux 6.18: in older ones exec(2) closes files before vfork(2) returns";
  for (const Caller caller : {Caller::kLibrary, Caller::kProgram}) {
    ServerThatHangsOnFlush server("hung");
    UNMOOR_NEEDS_FUSE(server);
    int answers[2];
    ASSERT_EQ(pipe2(answers, O_CLOEXEC), 0);
    const pid_t child = fork();  // its own end closes the file and waits for the server: it answers through a pipe
    if (child == 0) {
      char answer = open("hung/file", O_RDONLY | O_CLOEXEC) >= 0 && open("hung/file", O_RDONLY) >= 0 ? 'y' : 'o';
      mount_tmpfs("m");
      mount_tmpfs("m");  // a stack: giving up on the helper must not take both
      const dev_t top = device_at("m");
      const auto begun = Clock::now();
      if (!detach_always("m", MNT_DETACH, caller)) answer = 'e';
      if (Clock::now() - begun > std::chrono::seconds(1)) answer = 's';
      if (device_at("m") == top || device_at("m") == device_at(".")) answer = 't';
      static_cast<void>(write(answers[1], &answer, 1));
      _exit(0);
    }
    struct pollfd answered{answers[0], POLLIN, 0};
    char answer = 'h';
    if (poll(&answered, 1, 5000) == 1) static_cast<void>(read(answers[0], &answer, 1));
    EXPECT_EQ(answer, 'y');
    close(answers[0]);
    close(answers[1]);
    server.stop();
    waitpid(child, nullptr, 0);
    umount2("m", MNT_DETACH);
    umount2("m", MNT_DETACH);
  }
}

}  // namespace
}  // namespace unmoor::test
