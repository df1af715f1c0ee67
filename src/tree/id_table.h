// SPDX-License-Identifier: MIT
// Mounts by unique id, from the moment they are attached until they are released. Intrusive (Mount::id_next).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "tree/mount.h"

namespace unmoor::tree {

class IdTable {
 public:
  [[nodiscard]] bool init();
  void insert(Mount* mount);  // grows if memory allows
  void remove(Mount* mount);
  [[nodiscard]] Mount* find(std::uint64_t id) const;

 private:
  void grow();
  [[nodiscard]] std::size_t bucket(std::uint64_t id) const { return id & mask_; }  // ids are consecutive

  std::unique_ptr<Mount*[]> buckets_;
  std::size_t mask_ = 0;
  std::size_t count_ = 0;
};

}  // namespace unmoor::tree
