// SPDX-License-Identifier: MIT
#include "tree/fork_guard.h"

#include <cstddef>
#include <sys/mman.h>

namespace unmoor::tree {
namespace {

constexpr std::size_t kPage = 4096;

}  // namespace

ForkGuard::ForkGuard() {
  void* const page = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return;
  if (madvise(page, kPage, MADV_WIPEONFORK) != 0) {
    munmap(page, kPage);
    return;
  }
  page_ = static_cast<volatile std::uint32_t*>(page);
  *page_ = 1;
}

ForkGuard::~ForkGuard() {
  if (page_ != nullptr) munmap(const_cast<std::uint32_t*>(page_), kPage);
}

}  // namespace unmoor::tree
