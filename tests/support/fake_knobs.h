// SPDX-License-Identifier: MIT
// A directory with two files that look like the kernel's RCU knobs, for tests that must not touch the machine's.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace unmoor::test {

class FakeKnobs {
 public:
  FakeKnobs() {
    std::string pattern = (std::filesystem::temp_directory_path() / "unmoor-knobs-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) std::abort();
    directory_ = pattern;
    write("rcu_normal", 0);
    write("rcu_expedited", 0);
  }
  FakeKnobs(const FakeKnobs&) = delete;
  FakeKnobs& operator=(const FakeKnobs&) = delete;
  ~FakeKnobs() {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }

  [[nodiscard]] const std::string& directory() const { return directory_; }
  [[nodiscard]] int read(const char* name) const {
    std::ifstream file(directory_ + "/" + name);
    int value = -1;
    file >> value;
    return value;
  }
  void write(const char* name, int value) const { std::ofstream(directory_ + "/" + name) << value << '\n'; }

 private:
  std::string directory_;
};

}  // namespace unmoor::test
