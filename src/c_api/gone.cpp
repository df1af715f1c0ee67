// SPDX-License-Identifier: MIT
// The C face of src/gone.
#include <cerrno>
#include <memory>
#include <new>

#include <unmoor/unmoor.h>

#include "gone/inquiry.h"
#include "gone/wait_gone.h"

namespace {

using namespace unmoor;
using namespace unmoor::gone;

int fail_with(int error) {
  errno = error;
  return -1;
}

unmoor_holder to_c(const Holder& holder) {
  return {.size = sizeof(unmoor_holder),
          .prevents = static_cast<std::uint32_t>(holder.prevents),
          .certain = holder.certainty == Certainty::kCertain ? 1U : 0U,
          .uid = holder.uid,
          .pid = holder.pid,
          .tid = holder.tid,
          .descriptor = holder.descriptor,
          .deleted = holder.deleted ? 1 : 0,
          .mount_id = holder.mount_id,
          .mount_namespace = holder.mount_namespace,
          .kind = name_of(holder.kind).data(),
          .command = holder.command.c_str(),
          .user = holder.user.c_str(),
          .unit = holder.unit.c_str(),
          .container = holder.container.c_str(),
          .path = holder.path.c_str(),
          .detail = holder.detail.c_str(),
          .release = holder.release.c_str()};
}

int holders_of(const char* target, AskFor what, unmoor_holder_function found, void* data) {
  Result<Census> census = Census::take(kernel::SystemCalls::real());
  if (!census) return fail_with(census.error().code);
  const auto shared = std::make_shared<Census>(std::move(*census));
  Result<Target> known = resolve_target(*shared, target, what);
  if (!known) return fail_with(known.error().code);
  const Result<Inquiry> inquiry = inquire(shared, {std::move(*known)});
  if (!inquiry) return fail_with(inquiry.error().code);
  for (const Holder& holder : inquiry->answers.front().holders) {
    const unmoor_holder one = to_c(holder);
    if (found(&one, data) != 0) break;
  }
  return 0;
}

int wait_for(const char* target, int timeout) {
  const kernel::SystemCalls& calls = kernel::SystemCalls::real();
  const Result<Census> census = Census::take(calls);
  if (!census) return fail_with(census.error().code);
  const Result<Target> known = resolve_target(*census, target, AskFor::kWhatItNames);
  if (!known) return fail_with(known.error().code);
  Result<GoneWaiter> waiter = GoneWaiter::prepare(calls, *known);
  if (!waiter) return waiter.error().code == ENOENT ? 0 : fail_with(waiter.error().code);
  WaitOptions how;
  if (timeout >= 0) how.deadline = unmoor::gone::Clock::now() + std::chrono::milliseconds(timeout);
  const Result<Verdict> verdict = waiter->wait(how);
  if (!verdict) return fail_with(verdict.error().code);
  switch (verdict->outcome) {
    case Outcome::kGone:
      return 0;
    case Outcome::kStillMounted:
      return fail_with(EBUSY);
    case Outcome::kTimedOut:
      break;
  }
  return fail_with(ETIMEDOUT);
}

// errno is left alone on success, and no exception leaves the library.
template <typename Call>
int guarded(Call call) {
  const int saved = errno;
  try {
    const int result = call();
    if (result == 0) errno = saved;
    return result;
  } catch (const std::bad_alloc&) {
    return fail_with(ENOMEM);
  } catch (...) {
    return fail_with(EAGAIN);  // a thread could not be started
  }
}

}  // namespace

extern "C" {

int unmoor_holders(const char* target, uint32_t flags, unmoor_holder_function found, void* data) {
  if ((flags & ~static_cast<uint32_t>(UNMOOR_HOLDERS_FILESYSTEM)) != 0) return fail_with(EINVAL);
  if (target == nullptr || found == nullptr) return fail_with(EINVAL);
  const AskFor what = (flags & UNMOOR_HOLDERS_FILESYSTEM) != 0 ? AskFor::kFilesystem : AskFor::kWhatItNames;
  return guarded([&] { return holders_of(target, what, found, data); });
}

int unmoor_wait_gone(const char* target, int timeout) {
  if (target == nullptr) return fail_with(EINVAL);
  return guarded([&] { return wait_for(target, timeout); });
}

}  // extern "C"
