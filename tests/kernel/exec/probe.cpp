// SPDX-License-Identifier: MIT
// A static payload: says what it can see of the world it was started from. `probe facts` prints descriptors,
// environment and limits byte for byte; `probe escape DEVICE:INODE` looks for a directory with that identity;
// `probe exclusive DEVICE` fails while a filesystem holds the device.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <string>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>
#include <vector>

namespace {

std::string read_file(const char* path) {
  std::string text;
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  char block[4096];
  for (ssize_t got; fd >= 0 && (got = read(fd, block, sizeof block)) > 0;)
    text.append(block, static_cast<std::size_t>(got));
  if (fd >= 0) close(fd);
  return text;
}

std::vector<std::string> names_in(const char* path) {
  std::vector<std::string> names;
  DIR* const directory = opendir(path);
  while (directory != nullptr) {
    const dirent* const entry = readdir(directory);
    if (entry == nullptr) break;
    names.emplace_back(entry->d_name);
  }
  if (directory != nullptr) closedir(directory);
  std::sort(names.begin(), names.end());
  return names;
}

int facts() {
  std::string environment = read_file("/proc/self/environ");
  std::replace(environment.begin(), environment.end(), '\0', '\n');
  std::printf("environment:\n%s.\nfds:", environment.c_str());
  for (int fd = 0; fd < 4096; ++fd)
    if (fcntl(fd, F_GETFD) >= 0) std::printf(" %d(%d)", fd, fcntl(fd, F_GETFD));
  std::printf("\npid %d sid-is-leader %d umask", getpid(), getsid(0) == getpid());
  const mode_t mask = umask(0);
  std::printf(" %o\n", mask);
  const std::string status = read_file("/proc/self/status");
  for (const char* key : {"SigBlk:", "SigIgn:", "SigCgt:", "NoNewPrivs:", "CapEff:", "CapBnd:", "Seccomp:"}) {
    const std::size_t at = status.find(key);
    if (at != std::string::npos) std::printf("%s\n", status.substr(at, status.find('\n', at) - at).c_str());
  }
  return 0;
}

bool is(const std::string& path, unsigned long device, unsigned long inode) {
  struct stat facts{};
  return stat(path.c_str(), &facts) == 0 && facts.st_dev == device && facts.st_ino == inode;
}

int escape(const char* identity) {
  unsigned long device = 0;
  unsigned long inode = 0;
  if (std::sscanf(identity, "%lu:%lu", &device, &inode) != 2) return 2;
  std::string up = ".";
  for (int i = 0; i < 20; ++i, up += "/..")
    if (is(up, device, inode)) return std::printf("found by %s\n", up.c_str()), 1;
  for (const std::string& name : names_in("/proc")) {
    if (name[0] < '0' || name[0] > '9') continue;
    for (const char* link : {"/root", "/cwd", "/root/..", "/cwd/.."})
      if (is("/proc/" + name + link, device, inode)) return std::printf("found by /proc/%s%s\n", name.c_str(), link), 1;
    for (const std::string& fd : names_in(("/proc/" + name + "/fd").c_str()))
      if (fd[0] != '.' && is("/proc/" + name + "/fd/" + fd, device, inode))
        return std::printf("found by /proc/%s/fd/%s\n", name.c_str(), fd.c_str()), 1;
  }
  // Nothing of the host but what the container was given: two mounts on "/" would be the old root under the new one.
  const std::string table = read_file("/proc/self/mountinfo");
  int roots = 0;
  for (std::size_t at = 0; at < table.size(); at = table.find('\n', at) + 1) {
    const std::string line = table.substr(at, table.find('\n', at) - at);
    char mount_point[512] = "";
    if (std::sscanf(line.c_str(), "%*s %*s %*s %*s %511s", mount_point) == 1 && std::strcmp(mount_point, "/") == 0)
      ++roots;
  }
  if (roots != 1) return std::printf("%d mounts on /\n", roots), 1;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "facts") == 0) return facts();
  if (argc == 3 && std::strcmp(argv[1], "escape") == 0) return escape(argv[2]);
  if (argc == 3 && std::strcmp(argv[1], "exclusive") == 0) return open(argv[2], O_RDWR | O_EXCL) >= 0 ? 0 : 1;
  if (argc == 3 && std::strcmp(argv[1], "exit") == 0) return std::atoi(argv[2]);
  if (argc == 3 && std::strcmp(argv[1], "signal") == 0) return kill(getpid(), std::atoi(argv[2])), 0;
  return 2;
}
