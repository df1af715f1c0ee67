// SPDX-License-Identifier: MIT
#include "measure/scratch.h"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>
#include <utility>

namespace unmoor::measure {
namespace {

Result<void> write_file(const char* path, const std::string& text) {
  const kernel::UniqueFd file(open(path, O_WRONLY | O_CLOEXEC));
  if (!file || write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return fail(errno, "write", path);
  return {};
}

Result<void> enter_user_namespace() {
  const std::string user = "0 " + std::to_string(geteuid()) + " 1";
  const std::string group = "0 " + std::to_string(getegid()) + " 1";
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return fail(errno, "unshare", "user and mount namespace");
  for (const auto& [path, text] : {std::pair<const char*, std::string>{"/proc/self/setgroups", "deny"},
                                   {"/proc/self/uid_map", user},
                                   {"/proc/self/gid_map", group}}) {
    if (const Result<void> written = write_file(path, text); !written) return written;
  }
  return {};
}

}  // namespace

Result<Scratch> Scratch::make(MountNamespace where) {
  Scratch scratch;
  const char* const parent = std::getenv("TMPDIR");
  std::string path = std::string(parent != nullptr && *parent == '/' ? parent : "/tmp") + "/unmoor-bench-XXXXXX";
  if (mkdtemp(path.data()) == nullptr) return fail(errno, "mkdtemp", path);
  scratch.path_ = path;
  // Its view of the mounts is the one from before unshare: there it finds the scratch tmpfs, or only the directory.
  const char* const name = scratch.path_.c_str();
  Result<Guardian> guardian = Guardian::start(kernel::SystemCalls::real(), {-1, -1}, [path_of = std::string(name)] {
    const kernel::SystemCalls& calls = kernel::SystemCalls::real();
    (void)calls.umount2(path_of.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW);
    (void)calls.call(SYS_unlinkat, AT_FDCWD, kernel::SystemCalls::pointer(path_of.c_str()), AT_REMOVEDIR);
  });
  if (!guardian) {
    rmdir(name);
    return std::unexpected(guardian.error());
  }
  scratch.guardian_.emplace(std::move(*guardian));

  if (where == MountNamespace::kPrivate) {
    scratch.home_.reset(open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC));
    if (unshare(CLONE_NEWNS) != 0) {
      scratch.home_.reset();
      if (const Result<void> entered = enter_user_namespace(); !entered) return std::unexpected(entered.error());
    }
    if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return fail(errno, "make private", "/");
  }
  // Private, so that no mount made in it is copied to another namespace.
  if (mount("unmoor-bench", name, "tmpfs", 0, "mode=755") != 0) return fail(errno, "mount tmpfs", path);
  if (mount("none", name, nullptr, MS_PRIVATE, nullptr) != 0) return fail(errno, "make private", path);
  if (chdir(name) != 0 || mkdir("mnt", 0755) != 0) return fail(errno, "mkdir", path + "/mnt");
  return scratch;
}

Scratch::Scratch(Scratch&& other) noexcept
    : path_(std::exchange(other.path_, {})), home_(std::move(other.home_)), guardian_(std::move(other.guardian_)) {
  other.guardian_.reset();
}

Scratch::~Scratch() {
  if (!guardian_ || !guardian_->owned()) return;
  (void)!chdir("/");
  // In a private namespace too: what the last run left must be gone before the next scenario starts.
  (void)umount2(path_.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW);
  if (home_) (void)setns(home_.get(), CLONE_NEWNS);
  guardian_->dismiss(rmdir(path_.c_str()) == 0 ? Guardian::Last::kNothing : Guardian::Last::kOnDeath);
}

}  // namespace unmoor::measure
