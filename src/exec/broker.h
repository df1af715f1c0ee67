// SPDX-License-Identifier: MIT
// The one process outside the containers: hears the shims, has a worker make each unmount, answers when the mount is
// detached, and keeps a container's mount namespace alive until the container's processes are gone. Ends by itself.
//
// It is a single thread around one poll(2). It reads no request itself (see worker.h) and never waits for anybody.
#pragma once

#include "detach/policy.h"
#include "exec/report.h"
#include "exec/token.h"
#include "kernel/system_calls.h"
#include "kernel/unique_fd.h"

namespace unmoor::exec {

struct BrokerSetting {
  Token token;
  detach::Defer defer = detach::Defer::kElsewhere;
  pid_t program = 0;  // the first client: the process that `unmoor exec` becomes
};

// Runs until nobody needs it. `listener`: bound and listening, non-blocking.
void run_broker(const kernel::SystemCalls& calls, const BrokerSetting& setting, kernel::UniqueFd listener,
                Report report);

}  // namespace unmoor::exec
