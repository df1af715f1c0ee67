// SPDX-License-Identifier: MIT
// Starts the broker so that the program which this process is about to become never notices it: it is nobody's visible
// child, has none of the caller's descriptors, terminal, session or directory, and listens before this returns.
#pragma once

#include <optional>
#include <string>

#include "detach/policy.h"
#include "exec/report.h"
#include "exec/token.h"
#include "kernel/error.h"
#include "kernel/system_calls.h"

namespace unmoor::exec {

struct LaunchSetting {
  detach::Defer defer = detach::Defer::kElsewhere;
  std::optional<std::string> report = {};  // a file to append to; relative to the current directory
  ReportFormat format = ReportFormat::kText;
};

// `token`: all but the secrets is the caller's; they are drawn here. Single-threaded callers only (it forks).
// Errors: of the step that failed; nothing is left behind then.
[[nodiscard]] Result<Token> start_broker(const kernel::SystemCalls& calls, Token token, const LaunchSetting& setting);

}  // namespace unmoor::exec
