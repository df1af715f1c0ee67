// SPDX-License-Identifier: MIT
// Values that describe mounts and operations on them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace unmoor::tree {

// Unique for the life of a Universe, never reused; grows in the order in which mounts were made.
enum class MountId : std::uint64_t {};

// Per-mount attributes. Atime is an enumeration in Linux and here.
enum class Attribute : std::uint32_t {
  kReadOnly = 1U << 0,
  kNoSuid = 1U << 1,
  kNoDev = 1U << 2,
  kNoExec = 1U << 3,
  kNoDirAtime = 1U << 4,
  kNoSymFollow = 1U << 5,
};
enum class Atime : std::uint8_t { kRelative, kNone, kStrict };

// A set of Attribute.
class AttributeSet {
 public:
  constexpr AttributeSet() = default;
  constexpr AttributeSet(Attribute a) : bits_(static_cast<std::uint32_t>(a)) {}
  [[nodiscard]] constexpr bool has(Attribute a) const { return (bits_ & static_cast<std::uint32_t>(a)) != 0; }
  [[nodiscard]] constexpr bool empty() const { return bits_ == 0; }
  [[nodiscard]] constexpr std::uint32_t bits() const { return bits_; }
  [[nodiscard]] static constexpr AttributeSet from_bits(std::uint32_t bits) { return AttributeSet(bits & 0x3f); }
  friend constexpr AttributeSet operator|(AttributeSet a, AttributeSet b) { return AttributeSet(a.bits_ | b.bits_); }
  friend constexpr bool operator==(AttributeSet, AttributeSet) = default;

 private:
  explicit constexpr AttributeSet(std::uint32_t bits) : bits_(bits) {}
  std::uint32_t bits_ = 0;
};
constexpr AttributeSet operator|(Attribute a, Attribute b) {
  return AttributeSet(a) | AttributeSet(b);
}

struct MountOptions {
  AttributeSet attributes = {};
  Atime atime = Atime::kRelative;
};

// mount_setattr(2): first everything in `clear` goes, then everything in `set` comes.
struct AttributeChange {
  AttributeSet set = {};
  AttributeSet clear = {};
  std::optional<Atime> atime = {};  // nothing: keep
};

enum class Recursion : std::uint8_t { kOne, kTree };
enum class Propagation : std::uint8_t { kPrivate, kShared, kSlave, kUnbindable };

// umount2(2)'s flags; combine with |.
enum class UmountFlags : std::uint32_t { kNone = 0, kForce = 1, kDetach = 2, kExpire = 4, kNoFollow = 8 };
constexpr UmountFlags operator|(UmountFlags a, UmountFlags b) {
  return static_cast<UmountFlags>(static_cast<std::uint32_t>(a) | static_cast<std::uint32_t>(b));
}

// One mount, as statmount(2) tells it.
struct MountStatus {
  MountId id{};
  MountId parent{};         // its own id if it has none
  std::string mount_point;  // from the namespace's root
  std::string root;         // inside the filesystem
  std::string filesystem;   // the name given to mount()
  MountOptions options;
  std::uint32_t peer_group = 0;  // 0: not shared
  std::uint32_t master = 0;      // the peer group it receives propagation from; 0: none
  bool unbindable = false;
  bool locked = false;  // cannot be unmounted or moved on its own
};

}  // namespace unmoor::tree
