// SPDX-License-Identifier: MIT
#include "gone/shell_word.h"

#include <algorithm>

namespace unmoor::gone {
namespace {

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("/._-+:@%,=").find(c) != std::string_view::npos;
}

bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

}  // namespace

std::string shell_word(std::string_view text) {
  if (!text.empty() && std::ranges::all_of(text, is_plain)) return std::string(text);
  const bool controls = std::ranges::any_of(text, is_control);
  std::string word = controls ? "$'" : "'";
  for (const char c : text) {
    if (is_control(c)) {
      const auto byte = static_cast<unsigned char>(c);
      word += '\\';
      for (const int shift : {6, 3, 0})
        word += static_cast<char>('0' + ((byte >> shift) & 7));
    } else if (controls && (c == '\'' || c == '\\')) {
      word += '\\';
      word += c;
    } else if (c == '\'') {
      word += "'\\''";
    } else {
      word += c;
    }
  }
  word += '\'';
  return word;
}

}  // namespace unmoor::gone
