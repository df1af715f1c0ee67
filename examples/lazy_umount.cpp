// SPDX-License-Identifier: MIT
// A filesystem is in use; it is unmounted lazily, which does not wait; it shuts down when its last user lets go, in
// that user's call, and not a moment later.
//
//   c++ -std=c++23 lazy_umount.cpp -lunmoor-tree
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <set>
#include <string>

#include <unmoor/tree/tree.h>

using namespace unmoor::tree;

namespace {

// What a user hands in: answers what is at a path, and is told when nobody needs it any more.
class Image : public Filesystem {
 public:
  Image(std::string name, std::set<std::string, std::less<>> directories)
      : name_(std::move(name)), directories_(std::move(directories)) {}

  [[nodiscard]] FileKind kind(std::string_view path) const noexcept override {
    return path == "/" || directories_.contains(path) ? FileKind::kDirectory : FileKind::kNothing;
  }
  void shutdown() override { std::printf("%s: shut down\n", name_.c_str()); }

 private:
  const std::string name_;
  const std::set<std::string, std::less<>> directories_;
};

template <class T>
void report(const char* what, const Result<T>& result) {
  std::printf("%s: %s\n", what, result ? "done" : strerrorname_np(result.error().code));
}

}  // namespace

int main() {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  Result<Universe> universe = Universe::create();
  if (!universe) return 1;
  auto root = std::make_shared<Image>("root", std::set<std::string, std::less<>>{"/image"});
  Result<MountNamespace> ns = universe->create_namespace(root, "root");
  if (!ns) return 1;
  auto image = std::make_shared<Image>("image", std::set<std::string, std::less<>>{"/etc"});
  if (!ns->mount(image, "image", "/image", {.attributes = Attribute::kReadOnly})) return 1;

  Result<Pin> user = ns->pin("/image/etc");  // as an open directory
  if (!user) return 1;
  report("umount", ns->umount("/image"));
  report("umount -l", ns->umount("/image", UmountFlags::kDetach));
  if (!ns->pin("/image/etc")) std::puts("/image is gone for new lookups");
  for (const PendingRelease& pending : universe->pending())
    std::printf("still held: %s\n", pending.filesystem.c_str());

  user->reset();
  std::puts("the holder has let go");
  return universe->drain(std::chrono::steady_clock::now() + std::chrono::seconds(10)) ? 0 : 1;
}
