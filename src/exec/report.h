// SPDX-License-Identifier: MIT
// --report: one line (or one JSON object) for each call taken over or left alone, and why.
#pragma once

#include <cstdint>
#include <string_view>

#include "kernel/unique_fd.h"

namespace unmoor::exec {

enum class ReportFormat { kText, kJson };

struct ReportLine {
  std::string_view what;         // "deferred", "plain", "kept" (a namespace past its death), "finished"
  std::string_view target = {};  // as the program named it
  std::string_view why = {};
  std::int64_t nanoseconds = -1;  // what the program waited ("plain") or would have waited; -1: not known
  int error = 0;
  int pid = 0;
};

class Report {
 public:
  Report() = default;  // none is wanted
  Report(kernel::UniqueFd file, ReportFormat format) : file_(std::move(file)), format_(format) {}

  [[nodiscard]] bool wanted() const { return static_cast<bool>(file_); }
  // One write(2) to a file opened with O_APPEND, so that reports of several programs can share it.
  void write(const ReportLine& line) const;

 private:
  kernel::UniqueFd file_;
  ReportFormat format_ = ReportFormat::kText;
};

}  // namespace unmoor::exec
