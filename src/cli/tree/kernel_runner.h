// SPDX-License-Identifier: MIT
// Runs operations of a tree script on the running kernel, in private mount namespaces: one process a namespace, all
// gone with the runner. Paths are relative to the script's own root, a fresh tmpfs called "root".
//
// Thread-safety: one thread, which stays the one that made it (its death ends the workers).
#pragma once

#include <map>
#include <string>

#include "cli/tree/kernel_worker.h"
#include "cli/tree/listing.h"
#include "cli/tree/operation.h"
#include "kernel/error.h"

namespace unmoor::cli::tree {

class KernelRunner {
 public:
  // Errors: the kernel does not let this process make namespaces or mount.
  [[nodiscard]] static Result<KernelRunner> start();
  KernelRunner(KernelRunner&&) = default;
  KernelRunner& operator=(KernelRunner&&) = delete;
  ~KernelRunner();

  // The errno of one operation (0: done). EINVAL also for a namespace or pin that does not exist, or exists already.
  // kMountInfo does nothing. Errors: the machinery broke, not the operation.
  [[nodiscard]] Result<int> run(const Operation& operation);

  // The mounts that a process of that namespace sees. Errors: no such namespace (EINVAL); those of reading mountinfo.
  [[nodiscard]] Result<Listing> list(const std::string& ns) const;

 private:
  explicit KernelRunner(Worker first);

  struct PinPlace {
    std::string ns;
    int number;
  };
  std::map<std::string, Worker> workers_;  // by namespace
  std::map<std::string, PinPlace> pins_;
  int next_pin_ = 0;
};

}  // namespace unmoor::cli::tree
