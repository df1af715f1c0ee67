// SPDX-License-Identifier: MIT
// What `unmoor exec` hands to the shim through the environment: how to find the broker and how to know it.
// No allocation and no libstdc++: the shim uses it inside other people's programs.
#pragma once

#include <cstdint>
#include <cstring>

#include "exec/protocol.h"

namespace unmoor::exec {

struct Token {
  std::uint8_t name[kSecretSize] = {};           // of the abstract socket
  std::uint8_t client_secret[kSecretSize] = {};  // what the client says
  std::uint8_t broker_secret[kSecretSize] = {};  // what the broker answers
  std::uint64_t report = 0;                      // 1: the broker wants to hear of calls left alone
  std::uint64_t device = 0;                      // st_dev and st_ino of the shim: a program that finds another file
  std::uint64_t inode = 0;                       // under the shim's path cannot load it
};

// Longest text: three secrets, three numbers of 16 digits, five dots.
inline constexpr std::size_t kTokenTextSize = 3 * kHexSecretSize + 3 * 16 + 5 + 1;

namespace token_detail {

inline char* write_hex(char* out, const std::uint8_t* bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  for (std::size_t i = 0; i < kSecretSize; ++i) {
    *out++ = kDigits[bytes[i] >> 4];
    *out++ = kDigits[bytes[i] & 15];
  }
  return out;
}

inline char* write_number(char* out, std::uint64_t value) {
  constexpr char kDigits[] = "0123456789abcdef";
  char reversed[16];
  int used = 0;
  do
    reversed[used++] = kDigits[value & 15];
  while ((value >>= 4) != 0);
  while (used > 0)
    *out++ = reversed[--used];
  return out;
}

inline int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

inline bool read_hex(const char*& text, std::uint8_t* bytes) {
  for (std::size_t i = 0; i < kSecretSize; ++i) {
    const int high = digit(text[0]);
    if (high < 0) return false;
    const int low = digit(text[1]);
    if (low < 0) return false;
    bytes[i] = static_cast<std::uint8_t>(high << 4 | low);
    text += 2;
  }
  return true;
}

inline bool read_number(const char*& text, std::uint64_t& value) {
  value = 0;
  int digits = 0;
  for (; digit(*text) >= 0 && digits < 16; ++text, ++digits)
    value = value << 4 | static_cast<std::uint64_t>(digit(*text));
  return digits > 0;
}

inline bool skip_dot(const char*& text) {
  return *text == '.' && ++text != nullptr;
}

}  // namespace token_detail

// Writes `token` with its final NUL.
inline void write_token(const Token& token, char (&out)[kTokenTextSize]) {
  using namespace token_detail;
  char* end = write_hex(out, token.name);
  *end++ = '.';
  end = write_hex(end, token.client_secret);
  *end++ = '.';
  end = write_hex(end, token.broker_secret);
  *end++ = '.';
  end = write_number(end, token.report);
  *end++ = '.';
  end = write_number(end, token.device);
  *end++ = '.';
  end = write_number(end, token.inode);
  *end = '\0';
}

// False when `text` is not exactly a token.
[[nodiscard]] inline bool read_token(const char* text, Token& token) {
  using namespace token_detail;
  return read_hex(text, token.name) && skip_dot(text) && read_hex(text, token.client_secret) && skip_dot(text) &&
         read_hex(text, token.broker_secret) && skip_dot(text) && read_number(text, token.report) && skip_dot(text) &&
         read_number(text, token.device) && skip_dot(text) && read_number(text, token.inode) && *text == '\0';
}

}  // namespace unmoor::exec
