// SPDX-License-Identifier: MIT
// A mount namespace: a tree of mounts, looked up without a lock, changed with Linux's operations and Linux's errors.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <unmoor/tree/detached_tree.h>
#include <unmoor/tree/error.h>
#include <unmoor/tree/export.h>
#include <unmoor/tree/filesystem.h>
#include <unmoor/tree/mount.h>
#include <unmoor/tree/pin.h>

namespace unmoor::tree {

struct Ns;

// What a lookup found, for the length of a visit() callback.
struct Visit {
  MountId mount;
  Filesystem& filesystem;
  std::string_view path;  // inside the filesystem
  FileKind kind;
  MountOptions options;
  bool mount_root;  // `path` is the root of the mount
};

enum class OwnerChange : std::uint8_t {
  kSame,
  kLessPrivileged,  // the copy belongs to a new user namespace: its mounts are slaves, locked, and keep their
                    // attributes
};

// Paths are looked up from the namespace's root; a leading slash changes nothing. "." and ".." mean what they mean in
// Linux; above the root there is only the root. Errors of every lookup: ENOENT (also: an empty path), ENOTDIR,
// ENAMETOOLONG (a path of 4,096 bytes or more, a name of more than 255, or a path inside a filesystem of 8,192), EINVAL
// (a NUL byte). Every operation but visit() may answer EDEADLK and ESTALE (see Universe) and ENOMEM; the rest is in
// Linux's manual pages, in Linux's order; Error::why tells which rule it was.
//
// The destructor is the namespace's death: its mounts are released before it returns, except held ones, whose last
// holder does it. Inside a callback or a shutdown() it leaves everything to the pool.
//
// Thread-safety: any operation from any thread; moving from and destroying like any object.
class UNMOOR_TREE_API MountNamespace {
 public:
  MountNamespace(MountNamespace&& other) noexcept;
  MountNamespace& operator=(MountNamespace&& other) noexcept;
  ~MountNamespace();

  // --- Lookup

  // Calls `callback(const Visit&)` under the read lock, and returns what it returns. No shared write on the way; the
  // filesystem may be shutting down meanwhile, but nothing that Visit shows is freed before the callback returns.
  // The callback must not block for long (it holds up grace periods), nor change the tree (EDEADLK).
  template <typename Callback>
  auto visit(std::string_view path, Callback&& callback) const
      -> Result<std::invoke_result_t<Callback&, const Visit&>> {
    using Value = std::invoke_result_t<Callback&, const Visit&>;
    if constexpr (std::is_void_v<Value>) {
      return visit_with(
          path, [](void* f, const Visit& v) { (*static_cast<std::remove_reference_t<Callback>*>(f))(v); },
          const_cast<void*>(static_cast<const void*>(&callback)));
    } else {
      struct Call {
        std::remove_reference_t<Callback>& function;
        std::optional<Value> value;
      } call{callback, {}};
      const Result<void> found = visit_with(
          path,
          [](void* c, const Visit& v) {
            Call& made = *static_cast<Call*>(c);
            made.value.emplace(made.function(v));
          },
          &call);
      if (!found) return std::unexpected(found.error());
      return std::move(*call.value);
    }
  }
  [[nodiscard]] Result<Pin> pin(std::string_view path) const;
  // Relative to a pinned place, which may be detached by now.
  [[nodiscard]] Result<Pin> pin(const Pin& from, std::string_view path) const;

  // --- Changes

  // mount(2) of `filesystem`, called `name` in listings. Errors: EBUSY (the same filesystem is on top there, or belongs
  // to another Universe), ESTALE (it has been shut down), ENOSPC (mount_max), ENOTDIR, EINVAL.
  [[nodiscard]] Result<MountId> mount(std::shared_ptr<Filesystem> filesystem, std::string_view name,
                                      std::string_view target, const MountOptions& options = {});
  [[nodiscard]] Result<void> bind(std::string_view from, std::string_view to, Recursion recursion = Recursion::kOne);
  [[nodiscard]] Result<void> move(std::string_view from, std::string_view to);
  // move_mount(MOVE_MOUNT_BENEATH): under the topmost mount at `to`.
  [[nodiscard]] Result<void> move_beneath(std::string_view from, std::string_view to);
  // move_mount(MOVE_MOUNT_SET_GROUP): `to` joins the sharing of `from`.
  [[nodiscard]] Result<void> set_group(std::string_view from, std::string_view to);
  [[nodiscard]] Result<void> change_propagation(std::string_view path, Propagation type,
                                                Recursion recursion = Recursion::kOne);
  [[nodiscard]] Result<void> set_attributes(std::string_view path, const AttributeChange& change,
                                            Recursion recursion = Recursion::kOne);
  // Without kDetach: EBUSY if it is held. With kExpire: EAGAIN the first time.
  [[nodiscard]] Result<void> umount(std::string_view path, UmountFlags flags = UmountFlags::kNone);
  [[nodiscard]] Result<void> pivot_root(std::string_view new_root, std::string_view put_old);

  // open_tree(OPEN_TREE_CLONE) and move_mount(2) of the result. A tree that was attached can be kept, moved, dropped
  // without effect on the tree.
  [[nodiscard]] Result<DetachedTree> clone_tree(std::string_view path, Recursion recursion = Recursion::kTree);
  [[nodiscard]] Result<void> attach(DetachedTree& tree, std::string_view to);

  // unshare(CLONE_NEWNS), with the root where this namespace has it.
  [[nodiscard]] Result<MountNamespace> copy(OwnerChange owner = OwnerChange::kSame);

  // --- Queries, in the order of unique ids; only what can be reached from the root

  // /proc/PID/mountinfo, one line a mount, with the unique ids and no optional fields but shared, master, unbindable.
  [[nodiscard]] Result<std::string> mountinfo() const;
  // statmount(2). Errors: ENOENT (gone, or not in this namespace).
  [[nodiscard]] Result<MountStatus> status(MountId id) const;
  // listmount(2): ids greater than `after`, at most `max`.
  [[nodiscard]] Result<std::vector<MountId>> list(MountId after = {}, std::size_t max = 4096) const;
  // Every reachable mount, described.
  [[nodiscard]] Result<std::vector<MountStatus>> list_status() const;
  // Grows with every change: poll(2) on mountinfo.
  [[nodiscard]] std::uint64_t event() const;

 private:
  friend class Universe;
  explicit MountNamespace(Ns* ns) : ns_(ns) {}
  using VisitFunction = void (*)(void*, const Visit&);
  [[nodiscard]] Result<void> visit_with(std::string_view path, VisitFunction function, void* argument) const;
  void die();

  Ns* ns_;
};

}  // namespace unmoor::tree
