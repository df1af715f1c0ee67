// SPDX-License-Identifier: MIT
// A filesystem that is a set of names, and remembers what the tree did to it.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <unmoor/tree/filesystem.h>

#include "sync/mutex.h"

namespace unmoor::test {

class MemoryFilesystem : public tree::Filesystem {
 public:
  MemoryFilesystem() { dropped_.reserve(1024); }  // so that hearing of one needs no memory
  explicit MemoryFilesystem(std::initializer_list<const char*> directories) : MemoryFilesystem() {
    for (const char* const path : directories)
      add(path);
  }

  void add(const std::string& path, tree::FileKind kind = tree::FileKind::kDirectory) {
    MutexLock lock(mutex_);
    names_[path] = kind;
  }
  [[nodiscard]] tree::FileKind kind(std::string_view path) const noexcept override {
    if (path == "/") return tree::FileKind::kDirectory;
    MutexLock lock(mutex_);
    const auto found = names_.find(path);
    return found == names_.end() ? tree::FileKind::kNothing : found->second;
  }
  void shutdown() override {
    ++shutdowns;
    if (on_shutdown) on_shutdown();
  }
  void begin_umount() noexcept override { ++aborts; }
  void mountpoint_dropped(std::string_view path) noexcept override {
    MutexLock lock(mutex_);
    dropped_.emplace_back(path);
    if (on_dropped) on_dropped();
  }
  [[nodiscard]] std::vector<std::string> dropped() const {
    MutexLock lock(mutex_);
    return dropped_;
  }

  std::function<void()> on_shutdown;
  std::function<void()> on_dropped;
  std::atomic<int> shutdowns{0};
  std::atomic<int> aborts{0};

 private:
  mutable Mutex mutex_;
  std::map<std::string, tree::FileKind, std::less<>> names_ UNMOOR_GUARDED_BY(mutex_);
  std::vector<std::string> dropped_ UNMOOR_GUARDED_BY(mutex_);
};

}  // namespace unmoor::test
