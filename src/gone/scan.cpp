// SPDX-License-Identifier: MIT
#include "gone/scan.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <thread>
#include <unistd.h>

#include "gone/holders/finders.h"
#include "kernel/procfs_directory.h"
#include "kernel/procfs_text.h"
#include "sync/mutex.h"

namespace unmoor::gone {
namespace {

using Clock = std::chrono::steady_clock;

struct Worker {
  std::atomic<std::uint64_t> heartbeat{0};
  std::atomic<std::size_t> process{0};  // index it works on
  std::atomic<pid_t> thread{0};
  std::atomic<bool> finished{false};
  std::thread handle;
  // Of the watching thread only:
  std::uint64_t last_heartbeat = 0;
  Clock::time_point last_change;
  bool abandoned = false;
};

// What the workers share. Kept alive by whoever still runs: a stuck worker may outlive the scan.
struct Job {
  std::shared_ptr<const Census> census;
  Wanted wanted;
  holders::KnownSockets sockets;
  std::atomic<std::size_t> next{0};
  std::atomic<bool> stop{false};

  Mutex mutex;
  CondVar changed;
  ScanResult result UNMOOR_GUARDED_BY(mutex);
  std::unordered_set<std::size_t> given_up UNMOOR_GUARDED_BY(mutex);  // processes whose late results are dropped
};

bool same_object(const Sighting& a, const Sighting& b) {
  return a.kind == b.kind && a.descriptor == b.descriptor && a.place.mount_id == b.place.mount_id &&
         a.place.inode == b.place.inode && a.path == b.path;
}

// What a thread shares with its process was seen already, where nobody could tell that it is shared; and a program is
// always mapped.
void drop_repeats(std::vector<Sighting>& seen) {
  std::vector<Sighting> kept;
  for (Sighting& sighting : seen) {
    const bool repeated =
        sighting.tid != 0 && std::ranges::any_of(kept, [&](const Sighting& k) { return same_object(k, sighting); });
    const bool program = sighting.kind == HolderKind::kMapping && std::ranges::any_of(kept, [&](const Sighting& k) {
                           return k.kind == HolderKind::kExecutable && k.path == sighting.path;
                         });
    if (!repeated && !program) kept.push_back(std::move(sighting));
  }
  seen = std::move(kept);
}

Sightings look_at(const Job& job, const ProcessEntry& process, Worker& worker) {
  namespace h = holders;
  Sightings out;
  const kernel::SystemCalls& calls = job.census->calls();
  const Result<kernel::UniqueFd> directory =
      kernel::open_directory(calls, job.census->proc(), std::to_string(process.pid).c_str());
  if (!directory) return out;
  ProcessView view{.calls = &calls,
                   .wanted = &job.wanted,
                   .directory = directory->get(),
                   .pid = process.pid,
                   .tid = 0,
                   .name_space = process.mount_namespace,
                   .table = job.census->table_of(process.mount_namespace),
                   .heartbeat = &worker.heartbeat};
  h::find_working_directory(view, out);
  h::find_root_directory(view, out);
  h::find_executable(view, out);
  if (!h::find_descriptors(view, job.sockets, out)) ++out.denied;
  const bool leader_exited = process.mount_namespace == 0 && out.denied == 0;
  const auto note_identity = [&](const ProcessView& who, std::size_t seen_before) {
    if (out.seen.size() > seen_before)
      out.identities.try_emplace({who.pid, who.tid}, kernel::identity_of(calls, who.directory));
  };
  h::find_threads(view, leader_exited, [&](const ProcessView& thread, h::ThreadOwns owns) {
    const std::size_t before = out.seen.size();
    if (owns == h::ThreadOwns::kDescriptors) {
      (void)h::find_descriptors(thread, job.sockets, out);
      note_identity(thread, before);
      return;
    }
    ProcessView inside = thread;
    const Result<kernel::NamespaceInode> own = kernel::namespace_inode(calls, thread.directory, "ns/mnt");
    if (own) inside.name_space = *own;
    if (own && *own != process.mount_namespace) out.namespaces.push_back({*own, thread.pid, thread.tid, -1});
    h::find_working_directory(inside, out);
    h::find_root_directory(inside, out);
    note_identity(thread, before);
  });
  // Last, because it may wait for the process.
  h::find_mappings(view, out);
  note_identity(view, 0);
  drop_repeats(out.seen);
  return out;
}

void merge(Sightings&& from, Sightings& into) {
  std::ranges::move(from.seen, std::back_inserter(into.seen));
  into.identities.merge(from.identities);
  std::ranges::move(from.namespaces, std::back_inserter(into.namespaces));
  std::ranges::move(from.socket_owners, std::back_inserter(into.socket_owners));
  into.denied += from.denied != 0 ? 1 : 0;
}

void work(const std::shared_ptr<Job>& job, const std::shared_ptr<Worker>& worker) {
  worker->thread = static_cast<pid_t>(job->census->calls().call(SYS_gettid));
  Sightings found;
  for (;;) {
    const std::size_t at = job->stop ? job->census->processes().size() : job->next.fetch_add(1);
    if (at >= job->census->processes().size()) break;
    worker->process = at;
    Sightings one = look_at(*job, job->census->processes()[at], *worker);
    worker->heartbeat.fetch_add(1, std::memory_order_relaxed);
    MutexLock lock(job->mutex);
    if (job->given_up.contains(at)) break;  // another thread has gone on without us
    merge(std::move(one), job->result.sightings);
  }
  const MutexLock lock(job->mutex);
  worker->finished = true;
  job->changed.notify_all();
}

// A thread that is running, or waiting for a CPU, is slow and not stuck.
bool is_waiting(const Job& job, const Worker& worker) {
  const std::string path = "self/task/" + std::to_string(worker.thread.load()) + "/stat";
  const Result<std::string> text = kernel::read_text(job.census->calls(), job.census->proc(), path.c_str());
  if (!text) return false;
  const std::size_t end = text->rfind(") ");
  return end != std::string::npos && end + 2 < text->size() && (*text)[end + 2] != 'R';
}

std::shared_ptr<Worker> start_worker(const std::shared_ptr<Job>& job) {
  auto worker = std::make_shared<Worker>();
  worker->last_change = Clock::now();
  worker->handle = std::thread([job, worker] { work(job, worker); });
  return worker;
}

}  // namespace

ScanResult scan_processes(std::shared_ptr<const Census> census, Wanted wanted, holders::KnownSockets sockets,
                          const ScanOptions& options) {
  auto job = std::make_shared<Job>();
  job->census = std::move(census);
  job->wanted = std::move(wanted);
  job->sockets = std::move(sockets);
  const unsigned cpus = std::clamp(std::thread::hardware_concurrency(), 1U, 8U);
  std::vector<std::shared_ptr<Worker>> workers;
  for (unsigned i = 0; i < (options.threads != 0 ? options.threads : cpus); ++i)
    workers.push_back(start_worker(job));

  Clock::time_point give_up_at = Clock::time_point::max();
  MutexLock lock(job->mutex);
  for (;;) {
    std::size_t busy = 0;
    std::size_t stuck_now = 0;
    for (const std::shared_ptr<Worker>& worker : workers) {
      if (worker->abandoned || worker->finished) continue;
      ++busy;
      const std::uint64_t beat = worker->heartbeat;
      const Clock::time_point now = Clock::now();
      if (beat != worker->last_heartbeat) {
        worker->last_heartbeat = beat;
        worker->last_change = now;
      } else if (now - worker->last_change >= options.patience && is_waiting(*job, *worker)) {
        worker->abandoned = true;
        --busy;
        ++stuck_now;
        job->given_up.insert(worker->process);
        job->result.stuck.push_back(job->census->processes()[worker->process].pid);
      }
    }
    if (stuck_now > 0 && give_up_at == Clock::time_point::max()) give_up_at = Clock::now() + options.total_patience;
    if (Clock::now() >= give_up_at) job->stop = true;
    // Two for each stuck one: where one process is stuck, more are.
    for (std::size_t i = 0; i < 2 * stuck_now && !job->stop && workers.size() < 256; ++i, ++busy)
      workers.push_back(start_worker(job));
    if (busy == 0) break;
    (void)job->changed.wait_until(job->mutex, Clock::now() + std::chrono::milliseconds(50));
  }
  const std::size_t all = job->census->processes().size();
  job->result.unlooked = all - std::min(all, job->next.load());
  ScanResult result = std::move(job->result);
  lock.unlock();
  for (const std::shared_ptr<Worker>& worker : workers)
    worker->abandoned ? worker->handle.detach() : worker->handle.join();
  return result;
}

}  // namespace unmoor::gone
