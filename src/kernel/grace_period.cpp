// SPDX-License-Identifier: MIT
#include "kernel/grace_period.h"

#include "kernel/unique_fd.h"

namespace unmoor::kernel {

GracePeriod grace_period(const SystemCalls& calls) noexcept {
  const long fd = calls.open("/sys/kernel/rcu_normal", O_RDONLY);
  if (fd < 0) return GracePeriod::kUnknown;
  const UniqueFd owner(static_cast<int>(fd));
  char digit = 0;
  if (calls.read(owner.get(), &digit, 1) != 1) return GracePeriod::kUnknown;
  return digit == '0' ? GracePeriod::kExpedited : GracePeriod::kNormal;
}

}  // namespace unmoor::kernel
