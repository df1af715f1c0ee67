// SPDX-License-Identifier: MIT
// Threads with a working directory or a descriptor table of their own (unshare(CLONE_FS), unshare(CLONE_FILES)), and
// the threads of a process whose leader has exited: /proc/PID/fd of such a leader is empty.
//
// kcmp(2) tells who shares what, for one call per thread; without it every thread is looked at.
#include <linux/kcmp.h>

#include "gone/holders/finders.h"
#include "kernel/procfs_directory.h"

namespace unmoor::gone::holders {
namespace {

enum class Shared { kYes, kNo, kUnknown };

Shared shares(const kernel::SystemCalls& calls, pid_t a, pid_t b, int what) {
  const long result = calls.call(SYS_kcmp, a, b, what);
  if (result < 0) return Shared::kUnknown;
  return result == 0 ? Shared::kYes : Shared::kNo;
}

}  // namespace

void find_threads(const ProcessView& process, bool leader_exited,
                  const std::function<void(const ProcessView&, ThreadOwns)>& look) {
  struct ::statx facts;
  // /proc/PID/task has one link per thread beside its own two.
  const long counted = process.calls->statx(process.directory, "task", AT_STATX_DONT_SYNC, STATX_NLINK, &facts);
  if (counted == 0 && facts.stx_nlink == 3) return;
  const Result<kernel::UniqueFd> task = kernel::open_directory(*process.calls, process.directory, "task");
  if (!task) return;
  // Whom later threads are compared with: the first live one that was looked at in full.
  pid_t reference = leader_exited ? 0 : process.pid;
  (void)kernel::for_each_name(*process.calls, task->get(), [&](std::string_view name) {
    process.heartbeat->fetch_add(1, std::memory_order_relaxed);
    const int tid = kernel::numeric_name(name);
    if (tid <= 0 || tid == process.pid) return;
    const auto differs = [&](int what) {
      return reference == 0 || shares(*process.calls, reference, tid, what) != Shared::kYes;
    };
    const bool filesystem = differs(KCMP_FS);
    const bool descriptors = differs(KCMP_FILES);
    if (!filesystem && !descriptors) return;
    const Result<kernel::UniqueFd> directory = kernel::open_directory(*process.calls, task->get(), name.data());
    if (!directory) return;
    ProcessView view = process;
    view.directory = directory->get();
    view.tid = tid;
    if (filesystem) look(view, ThreadOwns::kFilesystem);
    if (descriptors) look(view, ThreadOwns::kDescriptors);
    if (reference == 0) reference = tid;
  });
}

}  // namespace unmoor::gone::holders
