// SPDX-License-Identifier: MIT
#include <cerrno>
#include <cstddef>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>

#include "detach/attempt.h"
#include "detach/reaper.h"
#include "detach/watch.h"
#include "kernel/raw_call.h"

namespace unmoor::detach {
namespace {

using kernel::raw_call;
using kernel::SystemCalls;
using kernel::UniqueFd;

constexpr std::size_t kBetweenStack = 128 * 1024;  // runs the whole attempt, mount table included
constexpr std::size_t kSentinelStack = 4096;

// Memory for the two processes that share ours; unmapped when both are past using it.
class Stacks {
 public:
  explicit Stacks(const SystemCalls& calls) {
    const long address = calls.call(SYS_mmap, 0, kBetweenStack + kSentinelStack, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
    if (address > 0 || address < -4095) base_ = reinterpret_cast<std::byte*>(address);
  }
  ~Stacks() {
    if (base_ != nullptr) {
      raw_call(SYS_munmap, SystemCalls::pointer(base_), static_cast<long>(kBetweenStack + kSentinelStack));
    }
  }
  Stacks(const Stacks&) = delete;
  Stacks& operator=(const Stacks&) = delete;

  [[nodiscard]] explicit operator bool() const { return base_ != nullptr; }
  [[nodiscard]] void* sentinel_top() const { return base_ + kSentinelStack; }
  [[nodiscard]] void* between_top() const { return base_ + kSentinelStack + kBetweenStack; }

 private:
  std::byte* base_ = nullptr;
};

struct Between {
  const Attempt& attempt;
  const Stacks& stacks;
  bool finished = false;  // ran to its end, so `verdict` is one
  Verdict verdict = Verdict::kNothingDone;
  int sentinel = -1;  // pidfd, in the descriptor table that is the caller's too
};

// Lives until its pid namespace dies.
__attribute__((no_sanitize("address", "thread", "undefined"))) int be_sentinel(void* /*unused*/) {
  for (;;)
    raw_call(SYS_ppoll);
}

// Process 1 of the new pid namespace. The caller is suspended until this returns.
int be_between(void* argument) {
  auto* between = static_cast<Between*>(argument);
  const SystemCalls& calls = between->attempt.calls;
  const long sentinel = calls.clone_sharing_memory(be_sentinel, between->stacks.sentinel_top(),
                                                   CLONE_FILES | CLONE_FS | CLONE_PIDFD, nullptr, &between->sentinel);
  if (sentinel >= 0) between->verdict = try_with_helper(between->attempt).verdict;
  between->finished = true;
  return 0;
}

void wait_until_it_holds_nothing(const SystemCalls& calls, int sentinel) {
  if (sentinel < 0) return;
  struct pollfd ended{sentinel, POLLIN, 0};
  while (calls.call(SYS_ppoll, SystemCalls::pointer(&ended), 1, 0, 0, 0) == -EINTR) {
  }
}

}  // namespace

Verdict attempt_hidden(const Attempt& attempt) {
  const SystemCalls& calls = attempt.calls;
  const Stacks stacks(calls);
  if (!stacks) return Verdict::kNothingDone;
  Between between{.attempt = attempt, .stacks = stacks};
  const long child =
      calls.clone_sharing_memory(be_between, stacks.between_top(), CLONE_VFORK | CLONE_FILES | CLONE_NEWPID, &between);
  if (child < 0) return Verdict::kNothingDone;
  const auto pid = static_cast<pid_t>(child);
  const UniqueFd sentinel(between.sentinel);
  if (between.finished && between.verdict == Verdict::kDetached) {
    wait_until_it_holds_nothing(calls, sentinel.get());
    remember_helper(calls, pid);
    return Verdict::kDetached;
  }
  if (between.finished && between.verdict == Verdict::kNothingDone) {
    // Its end may be a while off (a helper stuck in a close): what it held is gone when the sentinel is.
    wait_until_it_holds_nothing(calls, sentinel.get());
    remember_helper(calls, pid);
    return Verdict::kNothingDone;
  }
  if (const long status = wait_for_child(calls, pid); status < 0 && status != -ECHILD) remember_helper(calls, pid);
  if (between.finished) return between.verdict;
  // Killed in the middle. With it everything in its namespace has ended: what the mount is now is what it will be.
  const auto now = kernel::mount_id(calls, attempt.target.parent.get(), attempt.target.entry.c_str(),
                                    AT_SYMLINK_NOFOLLOW, attempt.target.id.mask);
  return now && !now->same_mount(attempt.target.id) ? Verdict::kFinished : Verdict::kNothingDone;
}

}  // namespace unmoor::detach
