// SPDX-License-Identifier: MIT
// What this thread is inside of: a visit() callback, a shutdown(). It decides what would deadlock, and keeps releases
// that are triggered inside a shutdown() from nesting: they are run, in turn, by the outermost release.
#pragma once

#include <cstdint>

#include "tree/list.h"
#include "tree/mount.h"

namespace unmoor::tree {

struct Core;

struct ThreadFrame {
  enum class Kind : std::uint8_t { kCallback, kRelease };

  ThreadFrame(Core& c, Kind k) : core(&c), kind(k), outer(top) { top = this; }
  ~ThreadFrame() { top = outer; }
  ThreadFrame(const ThreadFrame&) = delete;
  ThreadFrame& operator=(const ThreadFrame&) = delete;

  // The innermost frame of `core` of that kind on this thread.
  [[nodiscard]] static ThreadFrame* find(const Core& core, Kind kind) {
    for (ThreadFrame* frame = top; frame != nullptr; frame = frame->outer) {
      if (frame->core == &core && frame->kind == kind) return frame;
    }
    return nullptr;
  }
  // Whether this thread must not wait for `core`.
  [[nodiscard]] static bool inside(const Core& core) {
    for (const ThreadFrame* frame = top; frame != nullptr; frame = frame->outer) {
      if (frame->core == &core) return true;
    }
    return false;
  }

  Core* const core;
  const Kind kind;
  ThreadFrame* const outer;
  List<Superblock, ShutdownTag> later;  // kRelease: doomed meanwhile

  static thread_local constinit ThreadFrame* top;
};

}  // namespace unmoor::tree
