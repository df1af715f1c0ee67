// SPDX-License-Identifier: MIT
#include "cli/who/holders_text.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>
#include <sys/ioctl.h>
#include <unistd.h>

namespace unmoor::cli {
namespace {

using gone::Answer;
using gone::Holder;
using gone::Prevents;

enum Column { kWhat, kPid, kUser, kCommand, kService, kWhere, kFreeBy, kColumns };
constexpr std::array<const char*, kColumns> kHeadings = {"WHAT",    "PID",   "USER",   "COMMAND",
                                                         "SERVICE", "WHERE", "FREE BY"};
using Row = std::array<std::string, kColumns>;

// Columns as a terminal counts them: continuation bytes of UTF-8 take none.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

// The end of a path says more than its middle.
std::string shortened(const std::string& text, std::size_t width) {
  if (width_of(text) <= width) return text;
  if (width < 8) return text.substr(0, width);
  const std::size_t head = (width - 3) / 3;
  std::size_t tail = text.size() - (width - 3 - head);
  while (tail < text.size() && (static_cast<unsigned char>(text[tail]) & 0xc0) == 0x80)
    ++tail;
  std::size_t cut = head;
  while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xc0) == 0x80)
    --cut;
  return text.substr(0, cut) + "..." + text.substr(tail);
}

Row row_of(const Holder& holder) {
  Row row;
  row[kWhat] = words_for(holder.kind);
  if (holder.certainty == gone::Certainty::kCandidate) row[kWhat] += " (maybe)";
  if (holder.pid > 0) row[kPid] = std::to_string(holder.pid);
  if (holder.tid > 0) row[kPid] += "/" + std::to_string(holder.tid);
  if (holder.pid > 0) row[kUser] = printable(holder.user);
  row[kCommand] = printable(holder.command);
  row[kService] = printable(!holder.container.empty() ? holder.container : holder.unit);
  row[kWhere] = printable(holder.path);
  if (holder.deleted) row[kWhere] += " (deleted)";
  if (holder.descriptor >= 0) row[kWhere] += " (fd " + std::to_string(holder.descriptor) + ")";
  if (holder.mount_namespace != 0 && holder.prevents == Prevents::kShutdown)
    row[kWhere] += " in mnt:[" + std::to_string(holder.mount_namespace) + "]";
  if (!holder.detail.empty()) row[kWhere] += ", " + printable(holder.detail);
  row[kFreeBy] = printable(holder.release);
  return row;
}

std::string one_line(const Row& row, const std::array<std::size_t, kColumns>& widths) {
  std::string line;
  for (std::size_t column = 0; column < kColumns; ++column) {
    if (widths[column] == 0) continue;
    if (!line.empty()) line += "  ";
    const std::string cell = shortened(row[column], widths[column]);
    line += cell + std::string(widths[column] - std::min(widths[column], width_of(cell)), ' ');
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

// Takes what is too much from WHERE, then from FREE BY, then from COMMAND and SERVICE; none goes below what can be
// read.
void fit(std::array<std::size_t, kColumns>& widths, std::size_t terminal) {
  std::size_t total = 0;
  for (const std::size_t width : widths)
    total += width == 0 ? 0 : width + 2;
  std::size_t excess = total - 2 > terminal ? total - 2 - terminal : 0;
  for (const auto& [column, least] : {std::pair{kWhere, 24U},
                                      {kFreeBy, 16U},
                                      {kService, 10U},
                                      {kCommand, 7U},
                                      {kWhere, 10U},
                                      {kFreeBy, 8U},
                                      {kUser, 4U},
                                      {kService, 4U}}) {
    const std::size_t give = widths[column] > least ? std::min(excess, widths[column] - least) : 0;
    widths[column] -= give;
    excess -= give;
  }
}

std::string count_text(std::size_t count, const char* one, const char* many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

std::string heading(const Answer& answer) {
  const gone::Target& target = answer.target;
  std::string text = printable(target.name);
  if (!target.type.empty())
    text += " (" + target.type + (target.source.empty() ? "" : " " + printable(target.source)) + ")";
  return text;
}

struct Section {
  Prevents prevents;
  const char* says;
};

constexpr std::array<Section, 3> kSections = {{{Prevents::kUnmount, "it from being unmounted"},
                                               {Prevents::kShutdown, "its filesystem alive, but not the mount"},
                                               {Prevents::kDevice, "its device in use"}}};

}  // namespace

std::size_t terminal_width(int fd) {
  if (isatty(fd) == 0) return 0;
  winsize size{};
  if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

std::string printable(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f) {
      out += c;
      continue;
    }
    out += '\\';
    for (const int shift : {6, 3, 0})
      out += static_cast<char>('0' + ((byte >> shift) & 7));
  }
  return out;
}

std::string holders_table(const std::vector<Holder>& holders, const TableOptions& options) {
  std::vector<Row> rows;
  const std::size_t shown = options.at_most == 0 ? holders.size() : std::min(options.at_most, holders.size());
  for (std::size_t i = 0; i < shown; ++i)
    rows.push_back(row_of(holders[i]));
  std::array<std::size_t, kColumns> widths{};
  for (const Row& row : rows) {
    for (std::size_t column = 0; column < kColumns; ++column)
      widths[column] = std::max(widths[column], width_of(row[column]));
  }
  Row headings;
  for (std::size_t column = 0; column < kColumns; ++column) {
    headings[column] = kHeadings[column];
    if (widths[column] != 0) widths[column] = std::max(widths[column], headings[column].size());
  }
  if (options.width != 0) fit(widths, options.width);
  std::string text = one_line(headings, widths);
  for (const Row& row : rows)
    text += one_line(row, widths);
  if (shown < holders.size()) text += "and " + std::to_string(holders.size() - shown) + " more\n";
  return text;
}

std::string answer_text(const Answer& answer, const TableOptions& options) {
  std::string text;
  for (const Section& section : kSections) {
    std::vector<Holder> holders;
    std::ranges::copy_if(answer.holders, std::back_inserter(holders),
                         [&](const Holder& holder) { return holder.prevents == section.prevents; });
    if (holders.empty()) continue;
    if (!text.empty()) text += "\n";
    text +=
        heading(answer) + ": " + count_text(holders.size(), "holder keeps", "holders keep") + " " + section.says + "\n";
    text += holders_table(holders, options);
  }
  if (answer.holders.empty()) text += heading(answer) + ": no holder found\n";
  if (answer.unexplained)
    text +=
        "A reference remains that no finder explains: the filesystem is alive, and mounted nowhere that can be seen.\n";
  return text;
}

}  // namespace unmoor::cli
