// SPDX-License-Identifier: MIT
#include <bit>
#include <new>
#include <utility>

#include <unmoor/tree/universe.h>

#include "tree/clone.h"
#include "tree/ns_life.h"
#include "tree/operation.h"
#include "tree/put.h"

namespace unmoor::tree {

Result<Universe> Universe::create(const UniverseOptions& options) {
  if (!std::has_single_bit(options.count_shards) || options.count_shards > 64) {
    return refuse(EINVAL, "count_shards is a power of two up to 64");
  }
  if (options.backlog_max == 0) return refuse(EINVAL, "backlog_max is at least 1");
  try {
    auto core = std::make_unique<Core>(options);
    MutexLock lock(core->mount_lock.mutex);
    if (!core->table.init() || !core->by_id.init()) {
      lock.unlock();
      return refuse(ENOMEM, "no memory");
    }
    return Universe(core.release());
  } catch (const std::bad_alloc&) {
    return refuse(ENOMEM, "no memory");
  }
}

Universe::Universe(Universe&& other) noexcept : core_(std::exchange(other.core_, nullptr)) {}

Universe& Universe::operator=(Universe&& other) noexcept {
  std::swap(core_, other.core_);
  return *this;
}

Universe::~Universe() {
  if (core_ != nullptr && !core_->fork_guard.forked()) core_->unref();
}

Result<MountNamespace> Universe::create_namespace(std::shared_ptr<Filesystem> root, std::string_view name,
                                                  const MountOptions& options) {
  if (Result<void> may = core_->may_wait(); !may) return std::unexpected(may.error());
  Result<Ns*> ns = create_ns(*core_, std::move(root), name, options);
  if (!ns) return std::unexpected(ns.error());
  return MountNamespace(*ns);
}

Result<DetachedTree> Universe::create_detached(std::shared_ptr<Filesystem> filesystem, std::string_view name,
                                               const MountOptions& options) {
  if (Result<void> may = core_->may_wait(); !may) return std::unexpected(may.error());
  Result<Mount*> mount = mount_filesystem(*core_, std::move(filesystem), name, options, 0);
  if (!mount) return std::unexpected(mount.error());
  Ns* const ns = make_ns(*core_);
  if (ns == nullptr) {
    discard_mount(*core_, *mount);
    return refuse(ENOMEM, "no memory");
  }
  NamespaceLock lock(*core_);
  const MountWrite write(core_->mount_lock);
  ns->anonymous = true;
  ns->root = *mount;
  ns->add(*mount);
  ns->mount_count = 1;
  (*mount)->counts.get();
  return DetachedTree(*mount);
}

namespace {

[[nodiscard]] PendingRelease::State state_of(const Mount* mount) {
  if (mount->has(mount_flag::kDoomed)) return PendingRelease::State::kShuttingDown;
  if (mount->has(mount_flag::kDeferred)) return PendingRelease::State::kWaiting;
  return PendingRelease::State::kHeld;
}

// Whoever waits for releases is told of each. The pool counts waiters under its lock, and bury() takes that lock.
class Waiter {
 public:
  explicit Waiter(Core& core) : core_(core) {
    core.release_waiters.fetch_add(1, std::memory_order_relaxed);
    core.pool.bury();
  }
  ~Waiter() { core_.release_waiters.fetch_sub(1, std::memory_order_relaxed); }
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

 private:
  Core& core_;
};

}  // namespace

std::vector<PendingRelease> Universe::pending() const {
  std::vector<PendingRelease> all;
  if (core_->fork_guard.forked()) return all;
  core_->pool.bury();
  MutexLock lock(core_->mount_lock.mutex);
  for (Mount* const mount : core_->detached) {
    all.push_back(PendingRelease{
        .id = MountId{mount->id},
        .filesystem = mount->superblock->name,
        .state = state_of(mount),
        .since = std::chrono::steady_clock::time_point(std::chrono::nanoseconds(mount->detached_at)),
    });
  }
  return all;
}

Result<void> Universe::wait(MountId id, Deadline deadline) const {
  if (Result<void> may = core_->may_wait(); !may) return may;
  const Waiter waiter(*core_);
  MutexLock lock(core_->mount_lock.mutex);
  const auto number = static_cast<std::uint64_t>(id);
  if (number <= (std::uint64_t{1} << 31) || number > core_->last_id.load(std::memory_order_relaxed)) {
    return refuse(ENOENT, "no mount ever had this id");
  }
  const Mount* mount = core_->by_id.find(number);
  if (mount != nullptr && mount->in() != nullptr) return refuse(EBUSY, "it is still mounted");
  bool in_time = true;
  while (in_time && mount != nullptr) {
    in_time = core_->released.wait_until(core_->mount_lock.mutex, deadline);
    mount = core_->by_id.find(number);
  }
  if (mount == nullptr) return {};
  return refuse(ETIMEDOUT, "it is not gone yet");
}

Result<void> Universe::drain(Deadline deadline) const {
  if (Result<void> may = core_->may_wait(); !may) return may;
  const auto before = std::chrono::steady_clock::now().time_since_epoch();
  const auto limit = std::chrono::duration_cast<std::chrono::nanoseconds>(before).count();
  const Waiter waiter(*core_);
  MutexLock lock(core_->mount_lock.mutex);
  // The list is in the order in which mounts were detached.
  const auto done = [this, limit]() UNMOOR_NO_THREAD_SAFETY_ANALYSIS {
    return core_->detached.empty() || core_->detached.front()->detached_at > limit;
  };
  bool in_time = true;
  while (in_time && !done())
    in_time = core_->released.wait_until(core_->mount_lock.mutex, deadline);
  if (done()) return {};
  return refuse(ETIMEDOUT, "not everything is gone yet");
}

Stats Universe::stats() const {
  Stats stats;
  if (!core_->fork_guard.forked()) core_->pool.bury();
  const Counters& c = core_->counters;
  const auto read = [](const std::atomic<std::uint64_t>& counter) { return counter.load(std::memory_order_relaxed); };
  stats.mounts = read(c.mounts);
  stats.backlog = core_->pool.backlog();
  stats.backlog_peak = core_->pool.backlog_peak();
  stats.unretired = core_->retired.size();
  stats.released_idle = read(c.released_idle);
  stats.released_after_gp = read(c.released_after_gp);
  stats.released_by_holder = read(c.released_by_holder);
  stats.taken_over = read(c.taken_over);
  stats.grace_periods = read(c.grace_periods);
  stats.shutdowns = read(c.shutdowns);
  stats.failed_shutdowns = read(c.failed_shutdowns);
  stats.throttled = read(c.throttled);
  stats.walk_fallbacks = read(c.walk_fallbacks);
  if (core_->fork_guard.forked()) return stats;
  MutexLock lock(core_->mount_lock.mutex);
  stats.detached = core_->detached_count;
  return stats;
}

}  // namespace unmoor::tree
