// SPDX-License-Identifier: MIT
#include "exec/report.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <string>
#include <unistd.h>

namespace unmoor::exec {
namespace {

std::string milliseconds(std::int64_t nanoseconds, const char* form) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), form, static_cast<double>(nanoseconds) / 1e6);
  return text.data();
}

// The target is whatever the program passed: control characters and, for JSON, quotes must not break the line.
std::string escaped(std::string_view text, ReportFormat format) {
  const bool json = format == ReportFormat::kJson;
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    std::array<char, 8> code{};
    if (json && (c == '"' || c == '\\'))
      out += {'\\', c};
    else if (byte < 0x20 || byte == 0x7f || (json && byte >= 0x80)) {
      // A path need not be UTF-8: in JSON each such byte is the code point of its number.
      std::snprintf(code.data(), code.size(), json ? "\\u%04x" : "\\%03o", byte);
      out += code.data();
    } else {
      out += c;
    }
  }
  return out;
}

std::string text_line(const ReportLine& line) {
  std::string out(line.what);
  out.resize(std::max<std::size_t>(out.size(), 9), ' ');
  out += line.nanoseconds >= 0 ? milliseconds(line.nanoseconds, " %9.3f ms  ") : std::string(15, ' ');
  out += line.target.empty() ? "-" : escaped(line.target, ReportFormat::kText);
  if (line.pid != 0) out += "  (pid " + std::to_string(line.pid) + ")";
  if (!line.why.empty()) out += ": " + std::string(line.why);
  if (line.error != 0) out += std::string(" [") + ::strerrorname_np(line.error) + "]";
  return out + "\n";
}

std::string json_line(const ReportLine& line) {
  std::string out = R"({"what":")" + std::string(line.what) + R"(","target":")" +
                    escaped(line.target, ReportFormat::kJson) + R"(","why":")" +
                    escaped(line.why, ReportFormat::kJson) + "\"";
  if (line.nanoseconds >= 0) out += milliseconds(line.nanoseconds, R"(,"ms":%.3f)");
  if (line.error != 0) out += std::string(R"(,"error":")") + ::strerrorname_np(line.error) + "\"";
  if (line.pid != 0) out += R"(,"pid":)" + std::to_string(line.pid);
  return out + "}\n";
}

}  // namespace

void Report::write(const ReportLine& line) const {
  if (!file_) return;
  const std::string text = format_ == ReportFormat::kJson ? json_line(line) : text_line(line);
  // A full disk, or a reader that does not read, loses lines of the report, not unmounts.
  if (::write(file_.get(), text.data(), text.size()) < 0) return;
}

}  // namespace unmoor::exec
