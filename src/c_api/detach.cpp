// SPDX-License-Identifier: MIT
// The C face of src/detach.
#include "detach/detach.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <unmoor/unmoor.h>

namespace {

using unmoor::detach::Defer;
using unmoor::detach::Options;

// Takes a structure of the caller's size into one of ours. 0, or the errno of convention (4).
template <typename Struct>
int take(const Struct* given, Struct& own) {
  constexpr std::size_t first_version = sizeof(Struct);
  if (given->size < first_version) return EINVAL;
  const auto* const bytes = reinterpret_cast<const unsigned char*>(given);
  if (std::any_of(bytes + sizeof own, bytes + given->size, [](unsigned char byte) { return byte != 0; })) return E2BIG;
  std::memcpy(&own, given, sizeof own);
  return 0;
}

int policy(const unmoor_detach_options* given, Options& out) {
  unmoor_detach_options own = UNMOOR_DETACH_OPTIONS_INIT;
  if (given != nullptr) {
    if (const int error = take(given, own); error != 0) return error;
  }
  switch (own.defer) {
    case UNMOOR_DEFER_AUTO:
      out.defer = Defer::kAuto;
      return 0;
    case UNMOOR_DEFER_ELSEWHERE:
      out.defer = Defer::kElsewhere;
      return 0;
    case UNMOOR_DEFER_ALWAYS:
      out.defer = Defer::kAlways;
      return 0;
    case UNMOOR_DEFER_NEVER:
      out.defer = Defer::kNever;
      return 0;
    default:
      return EINVAL;
  }
}

int fail_with(int error) {
  errno = error;
  return -1;
}

}  // namespace

extern "C" {

int unmoor_detach_with(const char* target, int flags, const unmoor_detach_options* options,
                       unmoor_detach_result* result) {
  const int errno_before = errno;
  Options own;
  if (const int error = policy(options, own); error != 0) return fail_with(error);
  if (result != nullptr) {
    unmoor_detach_result unused = UNMOOR_DETACH_RESULT_INIT;
    if (const int error = take(result, unused); error != 0) return fail_with(error);
  }
  const auto outcome = unmoor::detach::detach_one(unmoor::kernel::SystemCalls::real(), target, flags, own);
  if (!outcome) return fail_with(outcome.error().code);
  if (result != nullptr) {
    result->deferred = outcome->deferred ? 1 : 0;
    result->microseconds = static_cast<uint64_t>(outcome->took.count());
    result->reason = unmoor::detach::reason_name(outcome->reason).data();
    result->explanation = unmoor::detach::reason_text(outcome->reason).data();
  }
  errno = errno_before;
  return 0;
}

int unmoor_detach(const char* target, int flags) {
  return unmoor_detach_with(target, flags, nullptr, nullptr);
}

void unmoor_reap(void) {
  const int errno_before = errno;
  unmoor::detach::reap_helpers();
  errno = errno_before;
}

}  // extern "C"
