// SPDX-License-Identifier: MIT
// The two variables of ours: put into the environment of a program that shall have the shim, taken out by the shim
// before the program sees them. In between nobody finds them: getenv, environ, main's third parameter and the array on
// the stack are what they would be without the shim.
//
// Allocates nothing. Thread-safety: set() or take_from() comes first, and once; everything else only reads.
#pragma once

#include <cstddef>

#include "exec/token.h"

namespace unmoor::exec {

class Environment {
 public:
  // False when the library's path cannot be put into LD_PRELOAD (too long, or with a colon or blank in it).
  [[nodiscard]] bool set(const Token& token, const char* library);
  // Takes our variables out of the process's own environment. False when they are not there: the shim stays idle.
  bool take_from(char** environment);

  [[nodiscard]] const Token& token() const { return token_; }
  [[nodiscard]] const char* library() const { return library_; }

  // How many pointers with() may write for this environment, the final NULL included, and how many bytes of text.
  struct Room {
    std::size_t pointers;
    std::size_t text;
  };
  [[nodiscard]] Room room_with(char* const* environment) const;
  // Writes the environment with our variables to `out`; `text` takes the composed LD_PRELOAD when there is one already.
  void with(char* const* environment, char** out, char* text) const;

 private:
  Token token_;
  char token_entry_[sizeof kTokenVariable + kTokenTextSize] = {};
  char preload_entry_[4200] = {};  // PATH_MAX and the variable's name
  const char* library_ = nullptr;  // into preload_entry_
};

}  // namespace unmoor::exec
