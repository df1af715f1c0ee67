// SPDX-License-Identifier: MIT
// Birth and death of namespaces, and the mount flags in the terms of the public headers.
#pragma once

#include <memory>
#include <string_view>

#include "tree/namespace_lock.h"

namespace unmoor::tree {

[[nodiscard]] std::uint32_t to_flags(const MountOptions& options);
[[nodiscard]] MountOptions to_options(std::uint32_t flags);

// An empty namespace, with a reference to the core. nullptr: no memory.
[[nodiscard]] Ns* make_ns(Core& core);
// A namespace without mounts goes.
void retire_ns(Ns* ns);

// A new mount of `filesystem`, attached to nothing.
[[nodiscard]] Result<Mount*> mount_filesystem(Core& core, std::shared_ptr<Filesystem> filesystem, std::string_view name,
                                              const MountOptions& options, std::uint64_t owner);
[[nodiscard]] Result<Ns*> create_ns(Core& core, std::shared_ptr<Filesystem> root, std::string_view name,
                                    const MountOptions& options);
[[nodiscard]] Result<Ns*> copy_ns(Ns* ns, OwnerChange owner);
// Everything in it is unmounted and released; deferred to the pool only when this thread may not wait.
void destroy_ns(Ns* ns);

// The place of the process root moves. Namespace and mount lock, sequence odd; references are the caller's affair.
void set_process_root(Ns* ns, Mount* mount, Place* place);

}  // namespace unmoor::tree
