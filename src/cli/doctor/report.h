// SPDX-License-Identifier: MIT
// The doctor's answer, for a person and for a program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/doctor/facts.h"
#include "cli/doctor/findings.h"

namespace unmoor::cli::doctor {

enum class Colour : std::uint8_t { kNo, kYes };

[[nodiscard]] std::string text_report(const Facts& facts, const std::vector<Finding>& findings, Colour colour);
// One JSON object and a newline. Names that are not UTF-8 have the replacement character in place of their bytes.
[[nodiscard]] std::string json_report(const Facts& facts, const std::vector<Finding>& findings);

}  // namespace unmoor::cli::doctor
