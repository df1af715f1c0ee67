// SPDX-License-Identifier: MIT
#include "tree/release_pool.h"

#include <algorithm>
#include <chrono>
#include <pthread.h>
#include <sched.h>
#include <thread>

#include "tree/core.h"
#include "tree/put.h"
#include "tree/thread_frames.h"

namespace unmoor::tree {
namespace {

// How long a shutdown may take before others are taken off its hands. A worker that blocks costs the next one this long
// at most, and each stall doubles the number of workers that come to help.
constexpr std::chrono::milliseconds kPatience{1};

// No worker calls more than this many at once: enough to meet a thousand dead servers in a few rounds.
constexpr std::size_t kMostHelpers = 64;

// How many filesystems that have been shut down are buried together.
constexpr std::size_t kBuryTogether = 64;

// Set on a pool thread that dropped the core's last reference: it destroys the core when it has left it.
thread_local Core* orphan = nullptr;
thread_local const ReleasePool* own_pool = nullptr;

}  // namespace

bool ReleasePool::on_pool_thread() const {
  return own_pool == this;
}

void ReleasePool::adopt(Core* core) {
  orphan = core;
}

ReleasePool::ReleasePool(Core& core) : core_(core) {
  background_.owned = false;
}

ReleasePool::~ReleasePool() {
  MutexLock lock(mutex_);
  stopping_ = true;
  work_.notify_all();
  jobs_ready_.notify_all();
  while (threads_ != 0)
    done_.wait(mutex_);
}

bool ReleasePool::start(void (ReleasePool::*loop)()) {
  ++threads_;
  try {
    std::thread([this, loop] {
      own_pool = this;
      (this->*loop)();
      Core* const left_behind = orphan;
      {
        MutexLock lock(mutex_);
        --threads_;
        done_.notify_all();
      }
      delete left_behind;
    }).detach();
    return true;
  } catch (...) {  // EAGAIN, ENOMEM
    --threads_;
    return false;
  }
}

// --- What waits for a grace period

void ReleasePool::defer(List<Mount, WorkTag>& mounts) {
  std::size_t more = 0;
  for (Mount* const mount : mounts) {
    mount->raise(mount_flag::kDeferred);
    ++more;
  }
  arrived_.splice_back(mounts);
  const std::size_t now = backlog_.fetch_add(more, std::memory_order_relaxed) + more;
  if (now > peak_.load(std::memory_order_relaxed)) peak_.store(now, std::memory_order_relaxed);
}

void ReleasePool::undefer(Mount* mount) {
  mount->lower(mount_flag::kDeferred);
  List<Mount, WorkTag>::remove(mount);
  backlog_.fetch_sub(1, std::memory_order_relaxed);
}

void ReleasePool::leave(List<Superblock, ShutdownTag>& doomed) {
  left_.splice_back(doomed);
}

void ReleasePool::kick() {
  {
    MutexLock lock(mutex_);
    kicked_ = true;
    if (waiter_running_) {
      work_.notify_one();
      return;
    }
    waiter_running_ = start(&ReleasePool::run_waiter);
    if (waiter_running_) return;
  }
  // No thread to be had: whoever kicked waits, unless it may not; then the next one does.
  if (!ThreadFrame::inside(core_)) release_arrived();
}

void ReleasePool::throttle() {
  if (backlog() <= core_.options.backlog_max && core_.retired.size() <= core_.options.backlog_max) return;
  count(core_.counters.throttled);
  {
    MutexLock lock(mutex_);
    while (backlog() > core_.options.backlog_max && waiter_running_)
      done_.wait(mutex_);
  }
  core_.retired.wait_below(core_.options.backlog_max);
}

void ReleasePool::run_waiter() {
  // SCHED_BATCH: waking this thread, which is in no hurry, should not put the unmounter aside, who is (one CPU for
  // both, Deferred: 45 us, and 6 us so). Where it is refused, or the program has a class of its own, it stays as it
  // was.
  const sched_param batch{};
  if (sched_getscheduler(0) == SCHED_OTHER) static_cast<void>(sched_setscheduler(0, SCHED_BATCH, &batch));
  while (true) {
    {
      MutexLock lock(mutex_);
      while (!kicked_ && !stopping_)
        work_.wait(mutex_);
      if (stopping_) {
        waiter_running_ = false;
        return;
      }
      kicked_ = false;
    }
    release_arrived();
    if (orphan != nullptr) {
      MutexLock lock(mutex_);
      waiter_running_ = false;
      return;
    }
  }
}

// Whatever arrives while the grace period runs stays in arrived_ and gets one of its own: those mounts left their
// namespace after it had begun.
void ReleasePool::release_arrived() {
  List<Mount, WorkTag> waiting;
  bool wait = false;
  {
    MutexLock lock(core_.mount_lock.mutex);
    waiting.splice_back(arrived_);
    wait = !waiting.empty();
  }
  if (wait) core_.synchronize();
  Doomed doomed;
  std::size_t released = 0;
  {
    MutexLock lock(core_.mount_lock.mutex);
    while (Mount* const mount = waiting.pop_front()) {  // less what holders took over
      mount->lower(mount_flag::kDeferred);
      put_locked(core_, mount, doomed);
      ++released;
    }
    doomed.to_shut_down.splice_back(left_);
  }
  count(core_.counters.released_after_gp, released);
  if (released != 0) {
    backlog_.fetch_sub(released, std::memory_order_relaxed);
    MutexLock lock(mutex_);
    done_.notify_all();
  }
  if (doomed.deferred) {
    MutexLock lock(mutex_);
    kicked_ = true;
  }
  drop_places(core_, doomed.dropped);
  free_mounts(core_, doomed.freed);
  List<Superblock, ShutdownTag>& jobs = doomed.to_shut_down;
  if (jobs.empty()) return;
  // Never in this thread if another can be had: the next grace period must not wait for a slow server.
  List<Superblock, ShutdownTag> mine;
  {
    MutexLock lock(mutex_);
    background_.waiting.splice_back(jobs);
    if (!List<ShutdownJob, JobTag>::contains(&background_)) jobs_.push_back(&background_);
    if (!call_worker()) {
      mine.splice_back(background_.waiting);
      List<ShutdownJob, JobTag>::remove(&background_);
    }
  }
  shut_down(mine);
}

// --- Shutdowns

bool ReleasePool::call_worker() {
  if (idle_workers_ != 0) {
    jobs_ready_.notify_one();
    return true;
  }
  return start(&ReleasePool::run_worker);
}

void ReleasePool::work_on(ShutdownJob& job, Superblock* superblock) {
  ++job.running;
  ++job.begun;
  // What is done should not wait for this one if it gets stuck and nobody watches.
  const bool bury_first = unburied_ != 0 && (job.waiting.empty() || on_pool_thread());
  mutex_.unlock();
  if (bury_first) bury();
  List<Superblock, ShutdownTag> more;
  run_shutdown(core_, superblock, more);
  mutex_.lock();
  shut_down_.push_back(superblock);
  if (++unburied_ >= kBuryTogether || core_.release_waiters.load(std::memory_order_relaxed) != 0) {
    mutex_.unlock();
    bury();
    mutex_.lock();
  }
  --job.running;
  if (!more.empty()) {
    job.waiting.splice_back(more);
    if (!job.owned && !List<ShutdownJob, JobTag>::contains(&job)) jobs_.push_back(&job);
  }
}

void ReleasePool::shut_down(List<Superblock, ShutdownTag>& list) {
  ShutdownJob job;
  job.waiting.splice_back(list);
  MutexLock lock(mutex_);
  while (true) {
    if (Superblock* const superblock = job.waiting.pop_front()) {
      prefetch(superblock->last);
      if (const Superblock* const next = job.waiting.front()) {
        __builtin_prefetch(next->filesystem.get());
        if (const Superblock* const after = job.waiting.next(job.waiting.front())) prefetch(after);
      }
      // Somebody else must watch what we leave behind while we are inside.
      if (!job.waiting.empty() && !List<ShutdownJob, JobTag>::contains(&job)) {
        jobs_.push_back(&job);
        if (!watching_) static_cast<void>(call_worker());
      }
      work_on(job, superblock);
    } else if (job.running != 0) {
      done_.wait(mutex_);
    } else {
      break;
    }
  }
  if (List<ShutdownJob, JobTag>::contains(&job)) List<ShutdownJob, JobTag>::remove(&job);
  lock.unlock();
  bury();  // also if another is at it: then this waits for the mount lock until it is done
}

void ReleasePool::bury() {
  RetiredChain gone;
  {
    MutexLock hold(core_.mount_lock.mutex);
    List<Superblock, ShutdownTag> shut_down;
    {
      MutexLock lock(mutex_);
      if (unburied_ == 0) return;
      shut_down.splice_back(shut_down_);
      unburied_ = 0;
    }
    gone = tree::bury(core_, shut_down);
  }
  free_mounts(core_, gone);
}

ShutdownJob* ReleasePool::next_job() {
  while (ShutdownJob* const job = jobs_.front()) {
    if (!job->waiting.empty()) return job;
    List<ShutdownJob, JobTag>::remove(job);
  }
  return nullptr;
}

void ReleasePool::run_worker() {
  MutexLock lock(mutex_);
  std::size_t helpers = 1;
  while (!stopping_ && orphan == nullptr) {
    ShutdownJob* const job = next_job();
    if (job == nullptr || watching_) {
      if (job == nullptr && unburied_ != 0) {
        lock.unlock();
        bury();
        lock.lock();
        continue;
      }
      if (job == nullptr && idle_workers_ != 0) return;  // one is enough for the next job
      ++idle_workers_;
      jobs_ready_.wait(mutex_);
      --idle_workers_;
      continue;
    }
    // Watch: what its owner gets through in time needs no help. The pool's own jobs have no owner to get through them.
    if (job->owned || job->running != 0) {
      const std::uint64_t before = job->begun;
      watching_ = true;
      jobs_ready_.wait_until(mutex_, std::chrono::steady_clock::now() + kPatience);
      watching_ = false;
      if (next_job() != job) {
        helpers = 1;
        continue;
      }
      if (job->begun != before) {
        // Gets on by itself. Watch another.
        List<ShutdownJob, JobTag>::remove(job);
        jobs_.push_back(job);
        helpers = 1;
        continue;
      }
    }
    // It is stuck. Take one, and let others take the rest or watch.
    Superblock* const superblock = job->waiting.pop_front();
    if (next_job() != nullptr) {
      for (std::size_t i = 0; i < helpers; ++i)
        static_cast<void>(call_worker());
      helpers = std::min(2 * helpers, kMostHelpers);
    }
    const auto begun = std::chrono::steady_clock::now();
    work_on(*job, superblock);
    if (std::chrono::steady_clock::now() - begun < kPatience) helpers = 1;
    done_.notify_all();
  }
}

}  // namespace unmoor::tree
