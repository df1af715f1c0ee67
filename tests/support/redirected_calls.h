// SPDX-License-Identifier: MIT
// A seam on which /proc, /sys and /dev are what a test has put into a directory: facts of machines we do not have.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

#include "kernel/system_calls.h"

namespace unmoor::test {

class RedirectedCalls : public kernel::SystemCalls {
 public:
  RedirectedCalls() {
    root_ = (std::filesystem::temp_directory_path() / "unmoor-fake-XXXXXX").string();
    if (mkdtemp(root_.data()) == nullptr) root_.clear();
  }
  ~RedirectedCalls() override {
    if (!root_.empty()) std::filesystem::remove_all(root_);
  }

  // `path` as the code under test names it: "/proc/swaps".
  void put(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }

  [[nodiscard]] long call(long number, long a, long b, long c, long d, long e, long f) const noexcept override {
    const bool named = number == SYS_openat || number == SYS_statx || number == SYS_readlinkat;
    const char* const path = named ? reinterpret_cast<const char*>(b) : nullptr;
    const std::string text = path == nullptr ? "" : path;
    if (!text.starts_with("/proc") && !text.starts_with("/sys") && !text.starts_with("/dev"))
      return SystemCalls::call(number, a, b, c, d, e, f);
    const std::string moved = root_ + text;
    return SystemCalls::call(number, a, pointer(moved.c_str()), c, d, e, f);
  }

 private:
  std::string root_;
};

}  // namespace unmoor::test
