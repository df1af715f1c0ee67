// SPDX-License-Identifier: MIT
#include "gone/superblock_watch.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <sys/inotify.h>
#include <thread>

#include "kernel/procfs_directory.h"
#include "kernel/procfs_fdinfo.h"
#include "sync/mutex.h"

namespace unmoor::gone {
namespace {

using kernel::SystemCalls;

// What the arming thread and its caller share: the thread may wait for a dead server long after the caller has gone on.
struct Arming {
  Mutex mutex;
  CondVar changed;
  std::optional<long> result UNMOOR_GUARDED_BY(mutex);
};

// What a read of this inotify descriptor told. IN_IGNORED alone is the end of the file, and not of its filesystem.
std::uint32_t read_events(const SystemCalls& calls, int fd) {
  alignas(inotify_event) std::array<char, 4096> buffer;
  const long got = calls.read(fd, buffer.data(), buffer.size());
  std::uint32_t events = 0;
  for (long at = 0; at + static_cast<long>(sizeof(inotify_event)) <= got;) {
    inotify_event event;
    std::memcpy(&event, buffer.data() + at, sizeof event);
    events |= event.mask;
    at += static_cast<long>(sizeof event + event.len);
  }
  return events;
}

}  // namespace

Result<SuperblockWatch> SuperblockWatch::arm(const SystemCalls& calls, const std::string& path,
                                             std::chrono::milliseconds patience) {
  const long inotify = calls.call(SYS_inotify_init1, IN_CLOEXEC | IN_NONBLOCK);
  if (inotify < 0) return fail_from(inotify, "inotify_init");
  kernel::UniqueFd owner(static_cast<int>(inotify));
  // The walk to `path` and the permission check may ask a server of a network filesystem. A thread can be given up.
  const long copy = calls.call(SYS_fcntl, owner.get(), F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return fail_from(copy, "fcntl(F_DUPFD_CLOEXEC)");
  auto arming = std::make_shared<Arming>();
  std::thread thread([&calls, arming, path, own = kernel::UniqueFd(static_cast<int>(copy))] {
    // IN_UNMOUNT comes whether it is asked for or not; a mask must not be empty.
    const long watch = calls.call(SYS_inotify_add_watch, own.get(), SystemCalls::pointer(path.c_str()), IN_DELETE_SELF);
    const MutexLock lock(arming->mutex);
    arming->result = watch;
    arming->changed.notify_all();
  });
  const Clock::time_point give_up = Clock::now() + patience;
  MutexLock lock(arming->mutex);
  while (!arming->result && arming->changed.wait_until(arming->mutex, give_up)) {
  }
  const std::optional<long> result = arming->result;
  lock.unlock();
  if (!result) {
    thread.detach();
    return fail(ETIMEDOUT, "inotify_add_watch", path);
  }
  thread.join();
  if (*result < 0) return fail_from(*result, "inotify_add_watch", path);
  return SuperblockWatch(std::move(owner));
}

std::optional<kernel::DeviceNumber> SuperblockWatch::watched(const SystemCalls& calls) const {
  const Result<kernel::UniqueFd> self = kernel::open_directory(calls, AT_FDCWD, "/proc/thread-self");
  if (!self) return std::nullopt;
  const Result<kernel::DescriptorFacts> facts = kernel::descriptor_facts(calls, self->get(), inotify_.get());
  return facts ? facts->watched : std::nullopt;
}

bool SuperblockWatch::fired_by(const SystemCalls& calls, Clock::time_point deadline) {
  while (!fired_ && !lost_) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd wait{.fd = inotify_.get(), .events = POLLIN, .revents = 0};
    const timespec timeout{.tv_sec = std::max<long>(left, 0) / 1000,
                           .tv_nsec = std::max<long>(left, 0) % 1000 * 1000000};
    const long ready = calls.call(SYS_ppoll, SystemCalls::pointer(&wait), 1, SystemCalls::pointer(&timeout), 0, 8);
    if (ready > 0) {
      const std::uint32_t events = read_events(calls, inotify_.get());
      fired_ = (events & IN_UNMOUNT) != 0;
      lost_ = !fired_ && (events & IN_IGNORED) != 0;
    }
    if (ready <= 0 && Clock::now() >= deadline) break;
  }
  return fired_;
}

}  // namespace unmoor::gone
