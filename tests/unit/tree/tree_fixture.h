// SPDX-License-Identifier: MIT
// A universe with one namespace, and short names for what the tests do all the time.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unmoor/tree/tree.h>

#include "support/memory_filesystem.h"

namespace unmoor::tree {

using test::MemoryFilesystem;
using Fs = std::shared_ptr<MemoryFilesystem>;
using namespace std::chrono_literals;

inline Deadline in(std::chrono::milliseconds time) {
  return std::chrono::steady_clock::now() + time;
}

// The errno of a result; 0: it succeeded.
template <typename T>
[[nodiscard]] int code(const Result<T>& result) {
  return result ? 0 : result.error().code;
}

inline Fs make_fs() {
  return std::make_shared<MemoryFilesystem>(
      std::initializer_list<const char*>{"/a", "/a/b", "/a/b/c", "/b", "/c", "/d"});
}

class TreeTest : public testing::Test {
 protected:
  explicit TreeTest(UniverseOptions options = {})
      : universe(Universe::create(options).value()), ns(universe.create_namespace(root, "root").value()) {
    root->add("/file", FileKind::kOther);
  }

  Fs mount(const std::string& path, const char* name = "fs") {
    Fs fs = make_fs();
    EXPECT_EQ(code(ns.mount(fs, name, path)), 0) << path;
    return fs;
  }
  // MOUNTPOINT ROOT FS, one line a mount.
  std::string listing(const MountNamespace& of) {
    std::string text;
    const auto mounts = of.list_status();
    for (const MountStatus& m : *mounts)
      text += m.mount_point + " " + m.root + " " + m.filesystem + "\n";
    return text;
  }
  std::string listing() { return listing(ns); }

  Fs root = make_fs();
  Universe universe;
  MountNamespace ns;
};

}  // namespace unmoor::tree
