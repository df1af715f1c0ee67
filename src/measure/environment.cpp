// SPDX-License-Identifier: MIT
#include "measure/environment.h"

#include <array>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <sys/utsname.h>
#include <unistd.h>

#include "measure/rcu_guard.h"

namespace unmoor::measure {
namespace {

std::string first_line_of(const char* command) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(command, "re"), &pclose);
  std::array<char, 256> line{};
  if (!pipe || std::fgets(line.data(), line.size(), pipe.get()) == nullptr) return {};
  line[std::strcspn(line.data(), "\n")] = '\0';
  return line.data();
}

std::string cpu_model() {
  std::ifstream table("/proc/cpuinfo");
  for (std::string line; std::getline(table, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return {};
}

}  // namespace

Environment read_environment() {
  Environment environment;
  utsname name{};
  if (uname(&name) == 0) {
    environment.kernel = std::string(name.sysname) + " " + name.release + " " + name.machine;
    environment.version = name.version;
  }
  environment.cpus = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  environment.cpu = cpu_model();
  const RcuKnobs knobs = read_rcu_knobs(kernel::SystemCalls::real());
  environment.rcu_normal = knobs.normal;
  environment.rcu_expedited = knobs.expedited;
  environment.util_linux = first_line_of("umount --version 2>/dev/null");
  environment.crun = first_line_of("crun --version 2>/dev/null");
  environment.bubblewrap = first_line_of("bwrap --version 2>/dev/null");
  return environment;
}

}  // namespace unmoor::measure
