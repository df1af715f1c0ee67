// SPDX-License-Identifier: MIT
// A program of somebody else's: mounts and unmounts in a tree of its own.
#include <cstdio>
#include <memory>

#include <unmoor/tree/tree.h>

namespace {

class Everything : public unmoor::tree::Filesystem {
 public:
  explicit Everything(int* shutdowns) : shutdowns_(shutdowns) {}
  [[nodiscard]] unmoor::tree::FileKind kind(std::string_view) const noexcept override {
    return unmoor::tree::FileKind::kDirectory;
  }
  void shutdown() override { ++*shutdowns_; }

 private:
  int* shutdowns_;
};

}  // namespace

int main() {
  int shutdowns = 0;
  auto universe = unmoor::tree::Universe::create();
  if (!universe) return 1;
  auto space = universe->create_namespace(std::make_shared<Everything>(&shutdowns), "root");
  if (!space) return 1;
  if (!space->mount(std::make_shared<Everything>(&shutdowns), "upper", "/mnt")) return 1;
  if (!space->umount("/mnt")) return 1;
  std::printf("%d shut down\n", shutdowns);
  return shutdowns == 1 ? 0 : 1;
}
