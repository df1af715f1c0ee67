// SPDX-License-Identifier: MIT
#include "exec/capability.h"

#include <array>
#include <linux/capability.h>

namespace unmoor::exec {

bool has_sys_admin(const kernel::SystemCalls& calls) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> sets{};
  return calls.call(SYS_capget, kernel::SystemCalls::pointer(&header), kernel::SystemCalls::pointer(sets.data())) ==
             0 &&
         (sets[0].effective & CAP_TO_MASK(CAP_SYS_ADMIN)) != 0;
}

}  // namespace unmoor::exec
