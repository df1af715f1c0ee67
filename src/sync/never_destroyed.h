// SPDX-License-Identifier: MIT
// A static object that threads may use to the very end of the process: its destructor never runs, so no order of
// destruction at exit(3) matters. Needs no memory but its own.
#pragma once

namespace unmoor {

template <typename T>
class NeverDestroyed {
 public:
  constexpr NeverDestroyed() noexcept : object_() {}
  NeverDestroyed(const NeverDestroyed&) = delete;
  NeverDestroyed& operator=(const NeverDestroyed&) = delete;
  ~NeverDestroyed() {}  // NOLINT(modernize-use-equals-default): defaulted it would be deleted, for the union's sake

  T& operator*() noexcept { return object_; }

 private:
  union {
    T object_;
  };
};

}  // namespace unmoor
