// SPDX-License-Identifier: MIT
// SIGINT, SIGTERM, SIGHUP and SIGQUIT are noted instead of ending the process, so that destructors put back what a
// bench has changed; the bench then ends itself by the same signal.
#pragma once

namespace unmoor::measure {

// Catches the signals for as long as it lives. One at a time.
class InterruptsNoted {
 public:
  InterruptsNoted();
  InterruptsNoted(const InterruptsNoted&) = delete;
  InterruptsNoted& operator=(const InterruptsNoted&) = delete;
  ~InterruptsNoted();
};

// The signal that came since, 0: none. From any thread.
[[nodiscard]] int interrupted();

}  // namespace unmoor::measure
