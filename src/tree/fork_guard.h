// SPDX-License-Identifier: MIT
// Tells a process that it is the child of a fork: its copy of the tree has locks that nobody will release and a pool
// without threads. A page with MADV_WIPEONFORK (Linux 4.14) reads as zero in the child, which costs a load to look at.
#pragma once

#include <cstdint>

namespace unmoor::tree {

class ForkGuard {
 public:
  ForkGuard();
  ~ForkGuard();
  ForkGuard(const ForkGuard&) = delete;
  ForkGuard& operator=(const ForkGuard&) = delete;

  [[nodiscard]] bool forked() const { return page_ != nullptr && *page_ == 0; }

 private:
  volatile std::uint32_t* page_ = nullptr;  // nullptr: the kernel cannot wipe, and a child is not noticed
};

}  // namespace unmoor::tree
