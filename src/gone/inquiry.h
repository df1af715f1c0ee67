// SPDX-License-Identifier: MIT
// Who holds what: one reading of /proc for any number of targets.
//
// Thread-safety: independent calls may run at the same time. A call starts threads of its own and ends within about two
// seconds also when processes or servers are stuck; what could not be read then is in the notes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gone/census.h"
#include "gone/holder.h"
#include "gone/scan.h"
#include "gone/target.h"

namespace unmoor::gone {

struct Answer {
  Target target{};
  std::vector<Holder> holders{};  // inner first
  // The filesystem is alive, is mounted nowhere, and no holder that is certain was found.
  bool unexplained = false;
};

struct Inquiry {
  std::vector<Answer> answers{};     // one per target, in order
  std::vector<std::string> notes{};  // what could not be seen, and why
};

// Asks for all targets. Errors: those of Census::take.
[[nodiscard]] Result<Inquiry> inquire(std::shared_ptr<Census> census, std::vector<Target> targets,
                                      const ScanOptions& options = {});

// What of an answer stands in the way of that.
[[nodiscard]] std::size_t count_holders(const Answer& answer, Prevents prevents);

}  // namespace unmoor::gone
