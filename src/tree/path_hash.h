// SPDX-License-Identifier: MIT
// The hash of a path inside a filesystem, built one component at a time, so that a walk has the hash of each prefix
// for nothing. The root ("") hashes to kRootHash.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace unmoor::tree {

inline constexpr std::uint64_t kRootHash = 0x9e3779b97f4a7c15U;

[[nodiscard]] inline std::uint64_t hash_component(std::uint64_t prefix, std::string_view name) {
  constexpr std::uint64_t kMultiplier = 0xff51afd7ed558ccdU;
  std::uint64_t hash = prefix ^ (name.size() * 0xc4ceb9fe1a85ec53U);
  const char* at = name.data();
  std::size_t left = name.size();
  for (; left >= 8; at += 8, left -= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, 8);
    hash = (hash ^ word) * kMultiplier;
    hash ^= hash >> 32;
  }
  std::uint64_t word = 0;
  std::memcpy(&word, at, left);
  hash = (hash ^ word) * kMultiplier;
  return hash ^ (hash >> 29);
}

// `path` is "" or "/a/b".
[[nodiscard]] inline std::uint64_t hash_path(std::string_view path) {
  std::uint64_t hash = kRootHash;
  while (!path.empty()) {
    path.remove_prefix(1);
    const std::size_t end = path.find('/');
    hash = hash_component(hash, path.substr(0, end));
    path = end == std::string_view::npos ? std::string_view() : path.substr(end);
  }
  return hash;
}

// Whether `path` is `directory` or below it; both as in hash_path.
[[nodiscard]] inline bool is_below(std::string_view path, std::string_view directory) {
  return path.starts_with(directory) && (path.size() == directory.size() || path[directory.size()] == '/');
}

}  // namespace unmoor::tree
