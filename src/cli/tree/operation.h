// SPDX-License-Identifier: MIT
// One line of a tree script (unmoor-tree(1)), the same for the tree and for the kernel.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace unmoor::cli::tree {

enum class Verb : std::uint8_t {
  kMakeDirectory,  // target
  kMakeFile,       // target
  kMount,          // name, target
  kBind,           // source, target; recursive
  kMove,           // source, target
  kMoveBeneath,    // source, target
  kSetGroup,       // source, target
  kShared,         // target; recursive
  kSlave,          // target; recursive
  kPrivate,        // target; recursive
  kUnbindable,     // target; recursive
  kSetAttributes,  // target, attributes; recursive
  kUnmount,        // target, umount_flags
  kPivotRoot,      // source: the new root, target: where the old one goes
  kCopyNamespace,  // name, source: the namespace copied; less_privileged
  kPin,            // name, target
  kUnpin,          // name
  kMountInfo,      // name: of a namespace
};

// What mount_setattr(2) is asked for, in its own bits (MOUNT_ATTR_*).
struct AttributeBits {
  std::uint64_t set = 0;
  std::uint64_t clear = 0;
};

struct Operation {
  int line = 0;
  Verb verb = Verb::kMountInfo;
  std::string ns;  // in which namespace; the first one is "main"
  std::string name;
  std::string source;
  std::string target;
  bool recursive = false;
  bool less_privileged = false;  // the copy belongs to a user namespace of its own
  int umount_flags = 0;          // MNT_FORCE, MNT_DETACH, MNT_EXPIRE
  AttributeBits attributes;
  std::optional<int> expected_errno;  // after "->"; 0 is OK
};

inline constexpr const char* kFirstNamespace = "main";

}  // namespace unmoor::cli::tree
