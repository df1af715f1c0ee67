// SPDX-License-Identifier: MIT
// MountNamespace: life, visit, pin.
#include <cerrno>
#include <mutex>
#include <new>
#include <utility>

#include <unmoor/tree/mount_namespace.h>

#include "tree/ns_life.h"
#include "tree/path_hash.h"
#include "tree/put.h"
#include "tree/thread_frames.h"
#include "tree/walk.h"

namespace unmoor::tree {

MountNamespace::MountNamespace(MountNamespace&& other) noexcept : ns_(std::exchange(other.ns_, nullptr)) {}

MountNamespace& MountNamespace::operator=(MountNamespace&& other) noexcept {
  if (this != &other) {
    die();
    ns_ = std::exchange(other.ns_, nullptr);
  }
  return *this;
}

MountNamespace::~MountNamespace() {
  die();
}

void MountNamespace::die() {
  Ns* const ns = std::exchange(ns_, nullptr);
  if (ns != nullptr && !ns->core->fork_guard.forked()) destroy_ns(ns);
}

Result<void> MountNamespace::visit_with(std::string_view path, VisitFunction function, void* argument) const {
  Core& core = *ns_->core;
  if (core.fork_guard.forked()) {
    return std::unexpected(Error{ESTALE, "a tree does not live in the child of a fork"});
  }
  Walk walk;
  const std::scoped_lock reading(core.domain);
  const Result<void> found = rcu_walk(*ns_, nullptr, path, Take::kNothing, walk);
  if (!found) return found;
  const Visit visit{
      .mount = MountId{walk.mount->id},
      .filesystem = *walk.mount->superblock->filesystem,
      .path = walk.shown(),
      .kind = walk.kind,
      .options = to_options(walk.mount->flags.load(std::memory_order_relaxed)),
      .mount_root = walk.at_root(),
  };
  const ThreadFrame frame(core, ThreadFrame::Kind::kCallback);
  function(argument, visit);
  return {};
}

Result<Pin> MountNamespace::pin(std::string_view path) const {
  return pin(Pin(), path);
}

Result<Pin> MountNamespace::pin(const Pin& from, std::string_view path) const {
  Core& core = *ns_->core;
  if (core.fork_guard.forked()) {
    return std::unexpected(Error{ESTALE, "a tree does not live in the child of a fork"});
  }
  Walk walk;
  Start start{};
  const bool relative = from.mount_ != nullptr && !path.starts_with('/');
  if (relative) {
    const std::string_view at = from.path_ == "/" ? std::string_view() : std::string_view(from.path_);
    start = Start{.mount = from.mount_, .path = at, .hash = hash_path(at), .root = nullptr, .root_place = nullptr};
  }
  {
    const std::scoped_lock reading(core.domain);
    const Result<void> found = rcu_walk(*ns_, relative ? &start : nullptr, path, Take::kReference, walk);
    if (!found) return std::unexpected(found.error());
  }
  try {
    return Pin(walk.mount, std::string(walk.shown()));
  } catch (const std::bad_alloc&) {
    put(core, walk.mount);
    return std::unexpected(Error{ENOMEM, "no memory for the path"});
  }
}

}  // namespace unmoor::tree
