// SPDX-License-Identifier: MIT
// The doctor's answer, for a person and for a program.
#pragma once

#include <string>
#include <vector>

#include "cli/doctor/facts.h"
#include "cli/doctor/findings.h"

namespace unmoor::cli::doctor {

[[nodiscard]] std::string text_report(const Facts& facts, const std::vector<Finding>& findings);
// One JSON object and a newline. Names that are not UTF-8 have the replacement character in place of their bytes.
[[nodiscard]] std::string json_report(const Facts& facts, const std::vector<Finding>& findings);

}  // namespace unmoor::cli::doctor
