// SPDX-License-Identifier: MIT
// `unmoor bench exec`: container runtimes, alone and under `unmoor exec`. Bundles are made from a static busybox.
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <linux/magic.h>
#include <linux/membarrier.h>
#include <memory>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/bench/benches.h"
#include "measure/command.h"

namespace unmoor::cli::bench {
namespace {

using measure::Arguments;
using measure::MountNamespace;
using measure::Role;
using measure::Scenario;
using measure::Side;

constexpr const char* kConfiguration = R"({"ociVersion":"1.0.0","process":{"terminal":false,"user":{"uid":0,"gid":0},
"args":["/bin/busybox","true"],"env":["PATH=/bin"],"cwd":"/","capabilities":{"bounding":["CAP_KILL"],
"effective":["CAP_KILL"],"permitted":["CAP_KILL"]},"noNewPrivileges":true},"root":{"path":"rootfs","readonly":true},
"mounts":[{"destination":"/proc","type":"proc","source":"proc"},
{"destination":"/dev","type":"tmpfs","source":"tmpfs","options":["nosuid","mode=755","size=64k"]},
{"destination":"/dev/pts","type":"devpts","source":"devpts","options":["newinstance","ptmxmode=0666","mode=0620"]},
{"destination":"/sys","type":"sysfs","source":"sysfs","options":["nosuid","noexec","nodev","ro"]}],
"linux":{"namespaces":[{"type":"pid"},{"type":"network"},{"type":"ipc"},{"type":"uts"},{"type":"mount"}]}})";

// crun looks for one cgroup2 mount; on a machine with both versions it gets one in the benchmark's own namespace.
Result<void> provide_cgroup2() {
  struct ::statfs facts{};
  if (::statfs("/sys/fs/cgroup", &facts) == 0 && facts.f_type == CGROUP2_SUPER_MAGIC) return {};
  if (umount2("/sys/fs/cgroup", MNT_DETACH) != 0 && errno != EINVAL) return fail(errno, "umount", "/sys/fs/cgroup");
  if (mount("cgroup2", "/sys/fs/cgroup", "cgroup2", 0, nullptr) != 0) return fail(errno, "mount", "/sys/fs/cgroup");
  return {};
}

Result<void> make_bundle() {
  for (const char* directory :
       {"bundle", "bundle/rootfs", "bundle/rootfs/bin", "bundle/rootfs/proc", "bundle/rootfs/dev", "bundle/rootfs/sys"})
    if (mkdir(directory, 0755) != 0 && errno != EEXIST) return fail(errno, "mkdir", directory);
  std::ofstream configuration("bundle/config.json");
  configuration << kConfiguration;
  if (!configuration.flush()) return fail(EIO, "write", "bundle/config.json");
  return measure::run_command({"/bin/sh", "-c", "cp \"$(command -v busybox)\" bundle/rootfs/bin/"});
}

// A container's network namespace is torn down by the kernel after the runtime has returned, for some ten grace
// periods, and holds locks meanwhile that the next container waits for (rtnl, 7 to 70 ms): its predecessor's time.
Result<void> let_the_kernel_finish() {
  constexpr int kGracePeriods = 16;
  for (int i = 0; i < kGracePeriods; ++i)
    if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) != 0) return fail(errno, "membarrier", "global");
  return {};
}

using Step = std::function<Result<void>()>;

// What a runtime needs before the first run, and before each of its runs.
struct Needs {
  Step set_up;
  Step before_each;
};

Side side(Role role, const std::string& shown, const Arguments& command, const Step& before) {
  Side side;
  side.command = shown;
  side.role = role;
  side.prepare = before;
  side.run = [command] { return measure::time_command(command); };
  return side;
}

Planned plan(const std::string& unmoor, const char* name, const char* description, const Arguments& command,
             const Needs& needs) {
  Planned planned{name, description, MountNamespace::kPrivate, {}};
  planned.make = [planned, unmoor, command, needs]() -> Result<Scenario> {
    if (needs.set_up)
      if (Result<void> ready = needs.set_up(); !ready) return std::unexpected(ready.error());
    Arguments under{unmoor, "exec", "--"};
    under.insert(under.end(), command.begin(), command.end());
    Scenario scenario{planned.name, planned.description, 20, {}};
    const std::string shown = fmt::format("{}", fmt::join(command, " "));
    scenario.sides = {side(Role::kReference, shown, command, needs.before_each),
                      side(Role::kContender, "unmoor exec -- " + shown, under, needs.before_each),
                      side(Role::kFloor, "/bin/true", {"/bin/true"}, needs.before_each)};
    return scenario;
  };
  return planned;
}

Result<void> set_up_crun() {
  if (Result<void> provided = provide_cgroup2(); !provided) return provided;
  return make_bundle();
}

}  // namespace

std::function<std::vector<Planned>(const std::string& unmoor)> set_up_exec(CLI::App&) {
  return [](const std::string& unmoor) {
    // A name of this process's own: a container that was left behind by another run is not in the way.
    const std::string container = fmt::format("unmoor-bench-{}", getpid());
    return std::vector<Planned>{
        plan(unmoor, "crun", "a container that does nothing",
             {"crun", "--cgroup-manager=disabled", "run", "-b", "bundle", container},
             {set_up_crun, let_the_kernel_finish}),
        plan(unmoor, "bwrap", "a sandbox that does nothing",
             {"bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-pid", "true"}, {})};
  };
}

}  // namespace unmoor::cli::bench
