// SPDX-License-Identifier: MIT
// mount_setattr(2) and the propagation types.
#include "tree/attributes.h"

#include <unmoor/tree/mount_namespace.h>

#include "tree/ns_life.h"
#include "tree/operation.h"
#include "tree/propagation.h"

namespace unmoor::tree {
namespace {

[[nodiscard]] std::uint32_t changed(const Mount* mount, const AttributeChange& change) {
  std::uint32_t flags = mount->flags.load(std::memory_order_relaxed);
  flags &= ~change.clear.bits();
  flags |= change.set.bits();
  if (change.atime) {
    flags &= ~mount_flag::kAtime;
    if (*change.atime == Atime::kRelative) flags |= mount_flag::kRelAtime;
    if (*change.atime == Atime::kNone) flags |= mount_flag::kNoAtime;
  }
  return flags;
}

[[nodiscard]] bool keeps_locked_flags(const Mount* mount, std::uint32_t after) {
  using namespace mount_flag;
  const std::uint32_t now = mount->flags.load(std::memory_order_relaxed);
  const auto lost = [now, after](std::uint32_t lock, Attribute attribute) {
    return (now & lock) != 0 && (after & static_cast<std::uint32_t>(attribute)) == 0;
  };
  if (lost(kLockReadOnly, Attribute::kReadOnly) || lost(kLockNoDev, Attribute::kNoDev) ||
      lost(kLockNoSuid, Attribute::kNoSuid) || lost(kLockNoExec, Attribute::kNoExec)) {
    return false;
  }
  constexpr std::uint32_t kAtimeMask = kAtime | static_cast<std::uint32_t>(Attribute::kNoDirAtime);
  return (now & kLockAtime) == 0 || (now & kAtimeMask) == (after & kAtimeMask);
}

[[nodiscard]] Mount* next(Mount* mount, Mount* top, Recursion recursion) {
  return recursion == Recursion::kTree ? next_in_tree(mount, top) : nullptr;
}

}  // namespace

Result<void> set_tree_attributes(NamespaceLock& lock, Mount* top, const AttributeChange& change, Recursion recursion) {
  // First all are asked, then all are changed.
  for (Mount* m = top; m != nullptr; m = next(m, top, recursion)) {
    if (!keeps_locked_flags(m, changed(m, change))) return refuse(EPERM, "an attribute is locked");
  }
  const MountWrite write(lock.core.mount_lock);
  for (Mount* m = top; m != nullptr; m = next(m, top, recursion)) {
    m->flags.store(changed(m, change), std::memory_order_release);
  }
  top->in()->event.fetch_add(1, std::memory_order_relaxed);
  return {};
}

Result<void> MountNamespace::set_attributes(std::string_view path, const AttributeChange& change, Recursion recursion) {
  if (Result<void> may = ns_->core->may_wait(); !may) return may;
  if (change.set.empty() && change.clear.empty() && !change.atime) return {};  // Linux does not look at the path
  NamespaceLock lock(*ns_->core);
  Walk walk;
  if (Result<void> found = look_up(lock, *ns_, path, walk); !found) return found;
  if (!walk.at_root()) return refuse(EINVAL, "not the root of a mount");
  if (walk.mount->in() != ns_) return refuse(EINVAL, "the mount is not in this namespace");
  return set_tree_attributes(lock, walk.mount, change, recursion);
}

Result<void> MountNamespace::change_propagation(std::string_view path, Propagation type, Recursion recursion) {
  Core& core = *ns_->core;
  if (Result<void> may = core.may_wait(); !may) return may;
  NamespaceLock lock(core);
  Walk walk;
  if (Result<void> found = look_up(lock, *ns_, path, walk); !found) return found;
  if (!walk.at_root()) return refuse(EINVAL, "not the root of a mount");
  Mount* const top = walk.mount;
  if (top->in() == nullptr) return refuse(EINVAL, "the mount is detached");
  if (type == Propagation::kShared) {
    if (Result<void> done = invent_groups(core, top, recursion); !done) return done;
  }
  for (Mount* m = top; m != nullptr; m = next(m, top, recursion))
    unmoor::tree::change_propagation(core, m, type);
  return {};
}

}  // namespace unmoor::tree
