// SPDX-License-Identifier: MIT
// The generator keeps a rough idea of which directories exist, so that most operations do something, and is wrong often
// enough that errors are tried too. What really happens is for the two sides to say.
#include "differential/generator.h"

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <sys/mount.h>

#include "cli/tree/attribute_words.h"

namespace unmoor::differential {
namespace {

using cli::tree::Operation;
using cli::tree::Verb;

struct Weighted {
  Verb verb;
  bool recursive;
  unsigned weight;
};

constexpr std::array kWeights{
    Weighted{Verb::kMount, false, 14},        Weighted{Verb::kMakeDirectory, false, 9},
    Weighted{Verb::kMakeFile, false, 1},      Weighted{Verb::kBind, false, 9},
    Weighted{Verb::kBind, true, 9},           Weighted{Verb::kMove, false, 8},
    Weighted{Verb::kMoveBeneath, false, 3},   Weighted{Verb::kSetGroup, false, 2},
    Weighted{Verb::kShared, false, 8},        Weighted{Verb::kShared, true, 4},
    Weighted{Verb::kSlave, false, 5},         Weighted{Verb::kSlave, true, 3},
    Weighted{Verb::kPrivate, false, 3},       Weighted{Verb::kPrivate, true, 2},
    Weighted{Verb::kUnbindable, false, 2},    Weighted{Verb::kUnbindable, true, 1},
    Weighted{Verb::kSetAttributes, false, 3}, Weighted{Verb::kSetAttributes, true, 2},
    Weighted{Verb::kUnmount, false, 22},      Weighted{Verb::kPivotRoot, false, 2},
    Weighted{Verb::kCopyNamespace, false, 4}, Weighted{Verb::kPin, false, 5},
    Weighted{Verb::kUnpin, false, 5},
};

constexpr std::array<const char*, 3> kNames{"a", "b", "c"};
constexpr std::array<const char*, 8> kOddPaths{"/", "/..", "/a/..", "/none", "/a/none/x", "/f", "/f/x", "/a//b/."};
constexpr std::array<const char*, 10> kAttributes{"ro",
                                                  "rw",
                                                  "suid,dev",
                                                  "exec,diratime",
                                                  "nosuid,nodev",
                                                  "noexec",
                                                  "noatime",
                                                  "strictatime,nodiratime",
                                                  "relatime,exec",
                                                  "ro,nosuid,noatime"};
struct FlagWeight {
  int flags;
  unsigned weight;
};
constexpr std::array kUnmountFlags{FlagWeight{0, 10}, FlagWeight{MNT_DETACH, 8}, FlagWeight{MNT_EXPIRE, 5},
                                   FlagWeight{MNT_FORCE, 2}, FlagWeight{MNT_EXPIRE | MNT_DETACH, 1}};

struct Bind {
  std::string ns;
  std::string source;
  std::string target;
};

class Generator {
 public:
  Generator(std::uint64_t seed, const Bounds& bounds) : random_(seed), bounds_(bounds) {}

  Script run() {
    for (const char* name : kNames)
      add_directory(std::string("/") + name);
    if (chance(40)) scaffold();
    while (script_.size() < bounds_.operations)
      step();
    return std::move(script_);
  }

 private:
  // std::uniform_int_distribution differs between standard libraries; this does not.
  std::size_t below(std::size_t limit) { return static_cast<std::size_t>(random_() % limit); }
  bool chance(unsigned percent) { return below(100) < percent; }
  template <typename Array>
  auto any(const Array& array) {
    return array[below(array.size())];
  }
  template <typename Array>
  const auto& weighted(const Array& array) {
    std::size_t total = 0;
    for (const auto& item : array)
      total += item.weight;
    std::size_t at = below(total);
    for (const auto& item : array) {
      if (at < item.weight) return item;
      at -= item.weight;
    }
    return array.front();
  }

  void add_directory(const std::string& path) {
    Operation operation;
    operation.verb = Verb::kMakeDirectory;
    operation.target = path;
    emit(std::move(operation));
    remember(path);
  }

  void remember(const std::string& path) {
    if (std::ranges::find(directories_, path) == directories_.end()) directories_.push_back(path);
  }

  std::string known_path() { return directories_.empty() ? "/" : any(directories_); }

  std::string new_path() {
    std::string path = chance(35) ? std::string() : known_path();
    if (static_cast<std::size_t>(std::ranges::count(path, '/')) >= bounds_.depth) path.clear();
    return path + "/" + any(kNames);
  }

  std::string path() {
    const std::size_t dice = below(100);
    if (dice < 80) return known_path();
    if (dice < 92) return new_path();
    return any(kOddPaths);
  }

  // What is below `from` is likely to be below `to` after a bind or a move.
  void remember_copy(const std::string& from, const std::string& to) {
    const std::vector<std::string> known = directories_;
    for (const std::string& path : known) {
      if (!path.starts_with(from + "/")) continue;
      const std::string copy = to + path.substr(from.size());
      if (static_cast<std::size_t>(std::ranges::count(copy, '/')) <= bounds_.depth) remember(copy);
    }
  }

  void emit(Operation operation) {
    operation.line = static_cast<int>(script_.size()) + 1;
    if (operation.ns.empty()) operation.ns = namespaces_[0];
    script_.push_back(std::move(operation));
  }

  // A shared tree of two levels with a copy that receives from it: what random operations alone rarely build, and where
  // the rules of propagation and of locked mounts meet.
  void scaffold() {
    const std::string top = std::string("/") + any(kNames);
    simple(namespaces_[0], Verb::kMount, top, "fs" + std::to_string(++filesystems_));
    for (const char* name : kNames)
      add_directory(top + "/" + name);
    simple(namespaces_[0], Verb::kShared, chance(50) ? top : "/", {}, true);
    for (int i = 0; i < 2; ++i) {
      const std::string inner = top + "/" + any(kNames);
      simple(namespaces_[0], Verb::kMount, inner, "fs" + std::to_string(++filesystems_));
      add_directory(inner + "/" + any(kNames));
    }
    set_attributes(namespaces_[0], top);
    Operation copy;
    copy.verb = Verb::kCopyNamespace;
    copy.name = "n" + std::to_string(namespaces_.size());
    copy.source = namespaces_[0];
    copy.less_privileged = chance(60);
    namespaces_.push_back(copy.name);
    emit(std::move(copy));
    if (chance(50)) set_attributes(namespaces_.back(), top);
  }

  // A private copy is put into the group of its original, which may be a slave as well: random paths alone do that in
  // one sequence out of hundreds of thousands.
  void into_the_group_of_a_copy(Operation& operation) {
    const Bind bind = any(binds_);
    operation.ns = bind.ns;
    operation.source = bind.source;
    operation.target = bind.target;
    if (chance(40)) simple(bind.ns, Verb::kSlave, bind.source);
    if (chance(80)) simple(bind.ns, Verb::kPrivate, bind.target);
  }

  void set_attributes(const std::string& ns, const std::string& target) {
    Operation operation;
    operation.verb = Verb::kSetAttributes;
    operation.ns = ns;
    operation.target = target;
    operation.attributes = *cli::tree::parse_attributes(any(kAttributes));
    emit(std::move(operation));
  }

  void simple(const std::string& ns, Verb verb, std::string target, std::string name = {}, bool recursive = false) {
    Operation operation;
    operation.verb = verb;
    operation.ns = ns;
    operation.target = std::move(target);
    operation.name = std::move(name);
    operation.recursive = recursive;
    emit(std::move(operation));
  }

  void step() {
    const Weighted& choice = weighted(kWeights);
    Operation operation;
    operation.verb = choice.verb;
    operation.recursive = choice.recursive;
    operation.ns = chance(60) ? namespaces_[0] : any(namespaces_);
    switch (choice.verb) {
      case Verb::kMakeDirectory:
        operation.target = new_path();
        remember(operation.target);
        break;
      case Verb::kMakeFile:
        operation.target = chance(50) ? "/f" : new_path();
        break;
      case Verb::kMount:
        operation.name = "fs" + std::to_string(++filesystems_);
        operation.target = path();
        break;
      case Verb::kBind:
      case Verb::kMove:
      case Verb::kMoveBeneath:
        operation.source = path();
        operation.target = path();
        remember_copy(operation.source, operation.target);
        if (choice.verb == Verb::kBind) binds_.push_back({operation.ns, operation.source, operation.target});
        break;
      case Verb::kSetGroup:
        if (!binds_.empty() && chance(60)) {
          into_the_group_of_a_copy(operation);
          break;
        }
        operation.source = path();
        operation.target = path();
        break;
      case Verb::kSetAttributes:
        operation.target = path();
        operation.attributes = *cli::tree::parse_attributes(any(kAttributes));
        break;
      case Verb::kUnmount:
        operation.target = path();
        operation.umount_flags = weighted(kUnmountFlags).flags;
        break;
      case Verb::kPivotRoot:
        operation.source = path();
        operation.target = chance(50) ? operation.source + "/" + any(kNames) : path();
        break;
      case Verb::kCopyNamespace:
        if (namespaces_.size() >= bounds_.namespaces) return;
        operation.name = "n" + std::to_string(namespaces_.size());
        operation.source = any(namespaces_);
        operation.ns = operation.source;
        operation.less_privileged = chance(40);
        break;
      case Verb::kPin:
      case Verb::kUnpin:
        operation.name = "h" + std::to_string(below(bounds_.pins));
        if (choice.verb == Verb::kPin) operation.target = path();
        break;
      default:
        operation.target = path();
    }
    const bool mounted = choice.verb == Verb::kMount;
    const bool copied = choice.verb == Verb::kCopyNamespace;
    const std::string ns = operation.ns;
    const std::string place = operation.target;
    const std::string name = operation.name;
    if (copied) operation.ns = namespaces_[0];
    emit(std::move(operation));
    if (copied) namespaces_.push_back(name);
    // A fresh filesystem is empty: without directories nothing more would happen in it.
    if (mounted && chance(70)) {
      Operation fill;
      fill.verb = Verb::kMakeDirectory;
      fill.ns = ns;
      fill.target = (place == "/" ? "" : place) + "/" + any(kNames);
      remember(fill.target);
      emit(std::move(fill));
    }
  }

  std::mt19937_64 random_;
  Bounds bounds_;
  Script script_;
  std::vector<std::string> directories_;
  std::vector<std::string> namespaces_{cli::tree::kFirstNamespace};
  std::vector<Bind> binds_;
  int filesystems_ = 0;
};

}  // namespace

Script generate(std::uint64_t seed, const Bounds& bounds) {
  return Generator(seed, bounds).run();
}

}  // namespace unmoor::differential
