// SPDX-License-Identifier: MIT
#include "exec/environment.h"

#include <cstdint>
#include <elf.h>

namespace unmoor::exec {
namespace {

bool starts_with(const char* text, const char* prefix) {
  return std::strncmp(text, prefix, std::strlen(prefix)) == 0;
}

char** find(char* const* environment, const char* prefix) {
  for (char* const* entry = environment; *entry != nullptr; ++entry)
    if (starts_with(*entry, prefix)) return const_cast<char**>(entry);  // NOLINT: the process's own array
  return nullptr;
}

// Takes the entry out of the array and its text out of /proc/PID/environ. The caller fills the slots that get free.
void drop(char** entry) {
  std::memset(*entry, 0, std::strlen(*entry));
  for (; entry[0] != nullptr; ++entry)
    entry[0] = entry[1];
}

}  // namespace

bool Environment::set(const Token& token, const char* library) {
  const std::size_t length = std::strlen(library);
  if (sizeof kPreloadVariable + length > sizeof preload_entry_ || std::strpbrk(library, ": \t\n") != nullptr)
    return false;
  token_ = token;
  std::strcpy(token_entry_, kTokenVariable);
  char text[kTokenTextSize];
  write_token(token, text);
  std::strcpy(token_entry_ + sizeof kTokenVariable - 1, text);
  std::strcpy(preload_entry_, kPreloadVariable);
  std::strcpy(preload_entry_ + sizeof kPreloadVariable - 1, library);
  library_ = preload_entry_ + sizeof kPreloadVariable - 1;
  return true;
}

bool Environment::take_from(char** environment) {
  char** const token = find(environment, kTokenVariable);
  char** const preload = find(environment, kPreloadVariable);
  if (token == nullptr || preload == nullptr) return false;
  if (std::strlen(*token) >= sizeof token_entry_ || !read_token(*token + sizeof kTokenVariable - 1, token_))
    return false;
  // LD_PRELOAD=LIBRARY or, when the program's environment had one, LD_PRELOAD=LIBRARY:ITS-OWN.
  const bool kept = find(environment, kKeptVariable) != nullptr;
  char* const value = *preload + sizeof kPreloadVariable - 1;
  const char* const colon = kept ? std::strchr(value, ':') : nullptr;
  if (kept && colon == nullptr) return false;
  const std::size_t length = kept ? static_cast<std::size_t>(colon - value) : std::strlen(value);
  if (sizeof kPreloadVariable + length > sizeof preload_entry_) return false;

  std::memcpy(token_entry_, *token, std::strlen(*token) + 1);
  std::memcpy(preload_entry_, *preload, sizeof kPreloadVariable - 1 + length);
  library_ = preload_entry_ + sizeof kPreloadVariable - 1;

  char** end = environment;
  while (*end != nullptr)
    ++end;
  drop(token);
  if (kept) {
    drop(find(environment, kKeptVariable));
    const std::size_t rest = std::strlen(colon + 1) + 1;
    std::memmove(value, colon + 1, rest);
    std::memset(value + rest, 0, length);
  } else {
    drop(find(environment, kPreloadVariable));
  }
  // Two entries are gone, so two slots are free between the new NULL and the auxiliary vector. Programs that look for
  // that vector right behind the NULL (Go's runtime does) find one entry to be ignored, then the vector.
  end[-1] = reinterpret_cast<char*>(static_cast<std::uintptr_t>(AT_IGNORE));
  end[0] = nullptr;
  return true;
}

Environment::Room Environment::room_with(char* const* environment) const {
  Room room{3, 0};  // two entries and the NULL
  for (char* const* entry = environment; *entry != nullptr; ++entry) {
    ++room.pointers;
    if (starts_with(*entry, kPreloadVariable)) room.text = std::strlen(preload_entry_) + std::strlen(*entry) + 2;
  }
  return room;
}

void Environment::with(char* const* environment, char** out, char* text) const {
  bool kept = false;
  for (char* const* entry = environment; *entry != nullptr; ++entry) {
    if (kept || !starts_with(*entry, kPreloadVariable)) {
      *out++ = *entry;
      continue;
    }
    kept = true;
    const std::size_t ours = std::strlen(preload_entry_);
    std::memcpy(text, preload_entry_, ours);
    text[ours] = ':';
    std::strcpy(text + ours + 1, *entry + sizeof kPreloadVariable - 1);
    *out++ = text;
  }
  *out++ = const_cast<char*>(token_entry_);                           // NOLINT: execve's types, not ours
  *out++ = const_cast<char*>(kept ? kKeptVariable : preload_entry_);  // NOLINT
  *out = nullptr;
}

}  // namespace unmoor::exec
