// SPDX-License-Identifier: MIT
#include "cli/tree/attribute_words.h"

#include <algorithm>
#include <array>

namespace unmoor::cli::tree {
namespace {

// include/uapi/linux/mount.h, stable since 5.12; mount_setattr(2) documents them.
constexpr std::uint64_t kReadOnly = 0x1;
constexpr std::uint64_t kNoSuid = 0x2;
constexpr std::uint64_t kNoDev = 0x4;
constexpr std::uint64_t kNoExec = 0x8;
constexpr std::uint64_t kAtimeMask = 0x70;
constexpr std::uint64_t kNoAtime = 0x10;
constexpr std::uint64_t kStrictAtime = 0x20;
constexpr std::uint64_t kNoDirAtime = 0x80;
constexpr std::uint64_t kNoSymFollow = 0x200000;

struct Word {
  std::string_view text;
  std::uint64_t set;
  std::uint64_t clear;
};

constexpr std::array kWords{
    Word{"ro", kReadOnly, 0},
    Word{"rw", 0, kReadOnly},
    Word{"nosuid", kNoSuid, 0},
    Word{"suid", 0, kNoSuid},
    Word{"nodev", kNoDev, 0},
    Word{"dev", 0, kNoDev},
    Word{"noexec", kNoExec, 0},
    Word{"exec", 0, kNoExec},
    Word{"noatime", kNoAtime, kAtimeMask},
    Word{"strictatime", kStrictAtime, kAtimeMask},
    Word{"relatime", 0, kAtimeMask},
    Word{"nodiratime", kNoDirAtime, 0},
    Word{"diratime", 0, kNoDirAtime},
    Word{"nosymfollow", kNoSymFollow, 0},
    Word{"symfollow", 0, kNoSymFollow},
};

}  // namespace

std::optional<AttributeBits> parse_attributes(std::string_view words) {
  AttributeBits bits;
  for (;;) {
    const std::size_t comma = words.find(',');
    const std::string_view text = words.substr(0, comma);
    const auto* const word = std::ranges::find(kWords, text, &Word::text);
    if (word == kWords.end()) return std::nullopt;
    bits.set |= word->set;
    bits.clear |= word->clear;
    if (comma == std::string_view::npos) return bits;
    words.remove_prefix(comma + 1);
  }
}

std::string attribute_options(std::uint64_t bits) {
  std::string options = (bits & kReadOnly) != 0 ? "ro" : "rw";
  if ((bits & kNoSuid) != 0) options += ",nosuid";
  if ((bits & kNoDev) != 0) options += ",nodev";
  if ((bits & kNoExec) != 0) options += ",noexec";
  const std::uint64_t atime = bits & kAtimeMask;
  if (atime == kNoAtime) options += ",noatime";
  if ((bits & kNoDirAtime) != 0) options += ",nodiratime";
  if (atime == 0) options += ",relatime";
  if ((bits & kNoSymFollow) != 0) options += ",nosymfollow";
  return options;
}

std::string attribute_words(const AttributeBits& bits) {
  std::string words;
  for (const Word& word : kWords) {
    const bool atime = (word.clear & kAtimeMask) != 0;
    const bool meant =
        atime ? (bits.clear & kAtimeMask) != 0 && (bits.set & kAtimeMask) == word.set
              : (word.set != 0 && (bits.set & word.set) != 0) || (word.clear != 0 && (bits.clear & word.clear) != 0);
    if (meant) words += (words.empty() ? "" : ",") + std::string(word.text);
  }
  return words;
}

}  // namespace unmoor::cli::tree
