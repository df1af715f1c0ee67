// SPDX-License-Identifier: MIT
// Runs operations of a tree script in the mount tree of libunmoor-tree. The same shape as KernelRunner.
//
// Thread-safety: one thread.
#pragma once

#include <map>
#include <string>

#include <unmoor/tree/universe.h>

#include "cli/tree/listing.h"
#include "cli/tree/operation.h"
#include "kernel/error.h"

namespace unmoor::cli::tree {

class TreeRunner {
 public:
  // Errors: those of Universe::create and create_namespace.
  [[nodiscard]] static Result<TreeRunner> start(const unmoor::tree::UniverseOptions& options = {});

  // The errno of one operation (0: done), as KernelRunner's.
  [[nodiscard]] Result<int> run(const Operation& operation);
  [[nodiscard]] Result<Listing> list(const std::string& ns) const;

 private:
  TreeRunner(unmoor::tree::Universe universe, unmoor::tree::MountNamespace first);
  [[nodiscard]] int perform(unmoor::tree::MountNamespace& ns, const Operation& operation);

  unmoor::tree::Universe universe_;
  std::map<std::string, unmoor::tree::MountNamespace> namespaces_;
  std::map<std::string, unmoor::tree::Pin> pins_;
};

}  // namespace unmoor::cli::tree
