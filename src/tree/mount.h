// SPDX-License-Identifier: MIT
// One mount. Linux's struct mount, without what a filesystem on a disk needs.
//
// Who guards a field, in Linux's terms:
//   N   written under the namespace lock (namespace_sem); read under it
//   M   written under the mount lock (mount_lock) with the sequence odd, and under N; walkers read it without a lock
//   m   read and written under the mount lock
// What walkers read is atomic: stored with release, loaded with acquire, so that the second look at the sequence count
// comes after every load, and whoever sees a new value sees the odd sequence before it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include <unmoor/tree/mount.h>

#include "tree/counts.h"
#include "tree/list.h"
#include "tree/place.h"
#include "tree/retired.h"
#include "tree/superblock.h"

namespace unmoor::tree {

struct Ns;

struct ChildTag;  // parent's children
struct NsTag;     // namespace's mounts; while unmounted: Core::detached
struct PeerTag;   // the ring of peers
struct SlaveTag;  // master's slaves
struct WorkTag;   // umount_tree's set; candidates; Unmounted; the pool's lists

// Mount::flags, M unless said otherwise. The low byte is AttributeSet.
namespace mount_flag {
inline constexpr std::uint32_t kAttributes = 0x3f;
inline constexpr std::uint32_t kNoAtime = 1U << 6;
inline constexpr std::uint32_t kRelAtime = 1U << 7;
inline constexpr std::uint32_t kAtime = kNoAtime | kRelAtime;
inline constexpr std::uint32_t kSettable = kAttributes | kAtime;
inline constexpr std::uint32_t kLockAtime = 1U << 8;  // what a less privileged owner cannot change
inline constexpr std::uint32_t kLockReadOnly = 1U << 9;
inline constexpr std::uint32_t kLockNoDev = 1U << 10;
inline constexpr std::uint32_t kLockNoSuid = 1U << 11;
inline constexpr std::uint32_t kLockNoExec = 1U << 12;
inline constexpr std::uint32_t kLocked = 1U << 13;      // cannot be parted from its parent
inline constexpr std::uint32_t kUmount = 1U << 14;      // leaving, or gone from, its namespace
inline constexpr std::uint32_t kSyncUmount = 1U << 15;  // by an umounter who promised that it is shut down at return
inline constexpr std::uint32_t kDoomed = 1U << 16;      // released: nobody gets a reference any more
inline constexpr std::uint32_t kDeferred = 1U << 17;    // m: the tree's reference is the pool's to drop
// What a clone does not inherit.
inline constexpr std::uint32_t kInternal = kLocked | kUmount | kSyncUmount | kDoomed | kDeferred;
}  // namespace mount_flag

// Mount::marks, N.
namespace mount_mark {
inline constexpr std::uint8_t kShared = 1;
inline constexpr std::uint8_t kUnbindable = 2;
inline constexpr std::uint8_t kMarked = 4;     // scratch of one propagation
inline constexpr std::uint8_t kCandidate = 8;  // propagate_umount's
}  // namespace mount_mark

struct Mount : Retired,
               Link<ChildTag>,
               Link<NsTag>,
               Link<PeerTag>,
               Link<SlaveTag>,
               Link<PlaceMountsTag>,
               Link<WorkTag> {
  // --- What a walk reads, in the order in which it does
  std::atomic<Mount*> hash_next{nullptr};     // M
  std::atomic<Mount*> parent{nullptr};        // M; itself: no parent
  std::atomic<Place*> mountpoint{nullptr};    // M; in the parent; nullptr: no parent. Counted.
  std::atomic<Mount*> overmount{nullptr};     // M; the mount on this one's root
  std::atomic<std::uint32_t> child_count{0};  // M
  std::atomic<std::uint32_t> flags{0};        // M
  Place* root = nullptr;                      // constant. Counted.
  Superblock* superblock = nullptr;           // constant. Counted.
  std::atomic<Ns*> ns{nullptr};               // M; nullptr: in no namespace, see put.cpp
  Counts counts;
  std::uint64_t id = 0;  // constant

  std::atomic<std::uint8_t> expiry_mark{0};  // umount(kExpire) was here; any put clears it
  std::uint8_t marks = 0;                    // N
  std::uint32_t group = 0;                   // N; peer group, 0: none
  List<Mount, ChildTag> children;            // M
  List<Mount, SlaveTag> slaves;              // N
  Mount* master = nullptr;                   // N
  Mount* id_next = nullptr;                  // m; Core::by_id
  std::int64_t detached_at = 0;              // m; steady clock, ns; when it left the tree

  [[nodiscard]] Mount* up() const { return parent.load(std::memory_order_relaxed); }
  [[nodiscard]] bool has_parent() const { return up() != this; }
  [[nodiscard]] Place* on() const { return mountpoint.load(std::memory_order_relaxed); }
  [[nodiscard]] Mount* over() const { return overmount.load(std::memory_order_relaxed); }
  [[nodiscard]] Ns* in() const { return ns.load(std::memory_order_relaxed); }
  [[nodiscard]] bool has(std::uint32_t flag) const { return (flags.load(std::memory_order_relaxed) & flag) != 0; }
  void raise(std::uint32_t flag) {
    flags.store(flags.load(std::memory_order_relaxed) | flag, std::memory_order_release);
  }
  void lower(std::uint32_t flag) {
    flags.store(flags.load(std::memory_order_relaxed) & ~flag, std::memory_order_release);
  }
  [[nodiscard]] bool marked(std::uint8_t mark) const { return (marks & mark) != 0; }
  void mark(std::uint8_t bits) { marks = static_cast<std::uint8_t>(marks | bits); }
  void unmark(std::uint8_t bits) { marks = static_cast<std::uint8_t>(marks & ~bits); }
  [[nodiscard]] bool shared() const { return marked(mount_mark::kShared); }
  [[nodiscard]] bool unbindable() const { return marked(mount_mark::kUnbindable); }
};

// The promise of docs/tree.md: a mount costs at most 512 bytes with 8 shards, besides the text of its path.
inline constexpr std::size_t kBytesPerMount = sizeof(Mount) + 8 * sizeof(CountCell) + sizeof(Place) +
                                              2 * sizeof(void*) /* hash buckets */ + sizeof(void*) /* place bucket */;
static_assert(kBytesPerMount <= 512);

// The mount that follows `m` when the tree below `top` is walked parents first; nullptr at the end. A loop, since
// trees get deep.
[[nodiscard]] inline Mount* next_in_tree(Mount* m, Mount* top) {
  if (Mount* const child = m->children.front()) return child;
  while (m != top) {
    Mount* const parent = m->up();
    if (Mount* const sibling = parent->children.next(m)) return sibling;
    m = parent;
  }
  return nullptr;
}

// The same, but not into the tree below `m`.
[[nodiscard]] inline Mount* next_past_tree(Mount* m, Mount* top) {
  while (m != top) {
    Mount* const parent = m->up();
    if (Mount* const sibling = parent->children.next(m)) return sibling;
    m = parent;
  }
  return nullptr;
}

// A big tree fits into no cache: who goes through it asks for what comes next while it works on this one.
inline void prefetch(const Mount* m) {
  const char* const at = reinterpret_cast<const char*>(m);
  for (std::size_t line = 0; line < sizeof(Mount); line += 64)
    __builtin_prefetch(at + line, 1);
}

// Goes through `mounts`, emptying it. `ahead` is called with a mount before its turn comes, and may look at it.
template <typename Ahead, typename Each>
void consume(List<Mount, WorkTag>& mounts, Ahead ahead, Each each) {
  while (Mount* const mount = mounts.pop_front()) {
    if (Mount* const second = mounts.front()) {
      ahead(second);
      if (Mount* const third = mounts.next(second)) prefetch(third);
    }
    each(mount);
  }
}

[[nodiscard]] inline Mount* topmost(Mount* m) {
  while (Mount* const over = m->over())
    m = over;
  return m;
}

}  // namespace unmoor::tree
