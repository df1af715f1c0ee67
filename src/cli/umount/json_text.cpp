// SPDX-License-Identifier: MIT
#include "cli/umount/json_text.h"

#include <cstdint>

namespace unmoor::cli::umount {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

void append_hex(std::string& out, unsigned char byte) {
  out += kHexDigits[byte >> 4];
  out += kHexDigits[byte & 15];
}

// How many bytes the UTF-8 character at the front takes; 0 if there is none (overlong, surrogate, cut off, ...).
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto continues = [&](std::size_t i) { return i < text.size() && (byte(i) & 0xC0) == 0x80; };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return continues(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    if (!continues(1) || !continues(2)) return 0;
    const bool overlong = first == 0xE0 && byte(1) < 0xA0;
    const bool surrogate = first == 0xED && byte(1) >= 0xA0;
    return overlong || surrogate ? 0 : 3;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    if (!continues(1) || !continues(2) || !continues(3)) return 0;
    const bool overlong = first == 0xF0 && byte(1) < 0x90;
    const bool too_large = first == 0xF4 && byte(1) >= 0x90;
    return overlong || too_large ? 0 : 4;
  }
  return 0;
}

}  // namespace

bool append_json_string(std::string& out, std::string_view text) {
  bool exact = true;
  out += '"';
  while (!text.empty()) {
    const std::size_t size = utf8_length(text);
    const auto first = static_cast<unsigned char>(text.front());
    if (size == 0) {
      out += kReplacement;
      exact = false;
    } else if (first == '"' || first == '\\') {
      out += '\\';
      out += text.front();
    } else if (first < 0x20) {
      out += "\\u00";
      append_hex(out, first);
    } else {
      out += text.substr(0, size);
    }
    text.remove_prefix(size == 0 ? 1 : size);
  }
  out += '"';
  return exact;
}

void append_json_member(std::string& out, std::string_view name, std::string_view text) {
  out += '"';
  out += name;
  out += "\": ";
  if (append_json_string(out, text)) return;
  out += ", \"";
  out += name;
  out += "_raw\": {\"bytes\": \"";
  for (const char byte : text)
    append_hex(out, static_cast<unsigned char>(byte));
  out += "\"}";
}

}  // namespace unmoor::cli::umount
