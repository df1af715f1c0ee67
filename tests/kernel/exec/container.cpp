// SPDX-License-Identifier: MIT
#include "container.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <fstream>
#include <linux/magic.h>
#include <sstream>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "support/here.h"

namespace unmoor::test {

Ran run(const Words& command) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {};
  const pid_t child = fork();
  if (child == 0) {
    std::vector<char*> words;
    for (const std::string& word : command)
      words.push_back(const_cast<char*>(word.c_str()));  // NOLINT: execvp's types
    words.push_back(nullptr);
    const int null = open("/dev/null", O_RDONLY);
    dup2(null, 0);
    dup2(ends[1], 1);
    dup2(ends[1], 2);
    close(null);
    execvp(words[0], words.data());
    _exit(127);
  }
  close(ends[1]);
  Ran ran;
  char block[4096];
  for (ssize_t got; (got = read(ends[0], block, sizeof block)) > 0;)
    ran.out.append(block, static_cast<std::size_t>(got));
  close(ends[0]);
  waitpid(child, &ran.status, 0);
  return ran;
}

Ran shell(const std::string& script) {
  return run({"/bin/sh", "-c", script});
}

Words under_exec(const Words& command, const Words& options) {
  Words words = {UNMOOR_PROGRAM, "exec", "--force"};
  words.insert(words.end(), options.begin(), options.end());
  words.emplace_back("--");
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

std::string read_file(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

namespace {

std::string link_of(const std::string& path) {
  std::array<char, 64> text{};
  return readlink(path.c_str(), text.data(), text.size() - 1) > 0 ? text.data() : "";
}

}  // namespace

std::vector<pid_t> brokers() {
  std::vector<pid_t> found;
  DIR* const proc = opendir("/proc");
  while (const dirent* const entry = proc != nullptr ? readdir(proc) : nullptr) {
    const pid_t pid = std::atoi(entry->d_name);
    if (pid <= 0) continue;
    const std::string directory = "/proc/" + std::to_string(pid);
    if (read_file(directory + "/comm") == "unmoor-broker\n" &&
        link_of(directory + "/ns/mnt") == link_of("/proc/self/ns/mnt"))
      found.push_back(pid);
  }
  if (proc != nullptr) closedir(proc);
  return found;
}

bool all_brokers_have_ended() {
  for (int i = 0; i < 200; ++i) {
    if (brokers().empty()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

std::string wait_for_report(const Words& wanted) {
  for (int i = 0;; ++i) {
    std::string text = read_file("report");
    if (i == 100 || std::ranges::all_of(wanted, [&](const std::string& word) { return text.contains(word); }))
      return text;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

std::string make_bundle(const std::string& name, const Words& arguments, const std::string& mounts) {
  const std::string rootfs = name + "/rootfs";
  mkdir(name.c_str(), 0755);
  for (const char* directory : {"", "/proc", "/dev", "/volume", "/oldroot"})
    mkdir((rootfs + directory).c_str(), 0755);
  // One copy for all bundles: a broker does not hold a private namespace with a big tmpfs, and the test's is one.
  EXPECT_EQ(
      shell("[ -e probe ] || { cp " UNMOOR_PROBE " probe && strip probe; }; ln -f probe " + rootfs + "/probe").status,
      0);
  std::string words;
  for (const std::string& argument : arguments)
    words += (words.empty() ? "\"" : ",\"") + argument + "\"";
  std::ofstream(name + "/config.json") << R"({"ociVersion":"1.0.0","process":{"terminal":false,"user":{"uid":0,"gid":0},
"args":[)" << words << R"(],"env":["A=1","B=two words"],"cwd":"/","capabilities":{"bounding":["CAP_KILL"],
"effective":["CAP_KILL"],"permitted":["CAP_KILL"]},"noNewPrivileges":true},
"root":{"path":"rootfs","readonly":true},"mounts":[
{"destination":"/proc","type":"proc","source":"proc"},
{"destination":"/dev","type":"tmpfs","source":"tmpfs","options":["nosuid","mode=755","size=64k"]})"
                                       << mounts << R"(],
"linux":{"namespaces":[{"type":"pid"},{"type":"network"},{"type":"ipc"},{"type":"uts"},{"type":"mount"}]}})";
  return here() + "/" + name;
}

Words crun_run(const std::string& bundle, const std::string& id) {
  return {"crun", "--cgroup-manager=disabled", "run", "-b", bundle, id};
}

std::string prepare_for_crun() {
  struct ::statfs facts{};
  if (statfs("/sys/fs/cgroup", &facts) == 0 && facts.f_type == CGROUP2_SUPER_MAGIC) return {};
  if (umount2("/sys/fs/cgroup", MNT_DETACH) != 0) return std::string("/sys/fs/cgroup to itself: ") + strerror(errno);
  if (mount("cgroup2", "/sys/fs/cgroup", "cgroup2", 0, nullptr) != 0) return std::string("cgroup2: ") + strerror(errno);
  return {};
}

bool installed(const std::string& program) {
  return shell("command -v " + program).status == 0;
}

bool copy_umount() {
  return shell("cp \"$(command -v umount)\" . && chmod 755 umount").status == 0;
}

int times(int usual) {
  const char* const wanted = std::getenv("UNMOOR_LONG");
  return wanted != nullptr && std::strcmp(wanted, "1") == 0 ? usual : (usual + 9) / 10;
}

}  // namespace unmoor::test
