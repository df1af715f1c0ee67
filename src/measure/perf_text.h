// SPDX-License-Identifier: MIT
// Wall-clock figures as `perf stat -r N --null [--table]` prints them, so that a table here can be laid beside one from
// a kernel mail. (Format observed from perf 6.1's output.)
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace unmoor::measure {

enum class PerfForm : std::uint8_t { kSummary, kTable };

// The whole block for one command: header, optional table of the runs, "A +- B seconds time elapsed  ( +- C% )".
// `seconds` has at least one value; one value gives perf's form without "-r".
[[nodiscard]] std::string perf_stat_text(std::string_view command, std::span<const double> seconds, PerfForm form);

}  // namespace unmoor::measure
