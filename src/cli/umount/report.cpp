// SPDX-License-Identifier: MIT
#include "cli/umount/report.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "cli/umount/json_text.h"
#include "cli/umount/sentences.h"

namespace unmoor::cli::umount {
namespace {

using detach::Fate;
using detach::MountFate;

int length(std::string_view text) {
  return static_cast<int>(text.size());
}

const char* fate_name(Fate fate) {
  switch (fate) {
    case Fate::kUntried:
      return "untried";
    case Fate::kUnmounted:
      return "unmounted";
    case Fate::kWentAlong:
      return "went-along";
    case Fate::kFailed:
      break;
  }
  return "failed";
}

}  // namespace

void Report::begin_item(std::string_view given, std::string_view mount_point) {
  json_ += json_.empty() ? "\n    {" : ",\n    {";
  append_json_member(json_, "target", given);
  if (!mount_point.empty() && mount_point != given) append_json_member(json_ += ", ", "mount_point", mount_point);
}

void Report::unmounted(std::string_view given, std::string_view mount_point, std::string_view source,
                       const detach::Outcome& outcome) {
  if (options_.json) {
    begin_item(given, mount_point);
    if (!source.empty()) append_json_member(json_ += ", ", "source", source);
    append_json_member(json_ += ", ", "result", options_.lazy ? "detached" : "unmounted");
    json_ += outcome.deferred ? ", \"deferred\": true" : ", \"deferred\": false";
    append_json_member(json_ += ", ", "reason", detach::reason_name(outcome.reason));
    json_ += ", \"microseconds\": " + std::to_string(outcome.took.count()) + "}";
    return;
  }
  if (!options_.verbose) return;
  std::fprintf(stderr, "umount: %.*s", length(mount_point), mount_point.data());
  if (!source.empty()) std::fprintf(stderr, " (%.*s)", length(source), source.data());
  std::fputs(" unmounted", stderr);
  if (options_.voice == Voice::kUnmoor && options_.lazy) {
    const std::string_view reason = detach::reason_text(outcome.reason);
    std::fprintf(stderr, ": %.*s", length(reason), reason.data());
  }
  std::fputc('\n', stderr);
}

void Report::failed(std::string_view given, std::string_view mount_point, int error) {
  if (error == EBUSY) busy_.emplace_back(mount_point);
  if (options_.json) {
    begin_item(given, mount_point);
    add_fate({.fate = Fate::kFailed, .error = error});
    return;
  }
  if (options_.quiet && error == EINVAL) return;
  complain(mount_point, failure_sentence(error) + ".");
}

void Report::by_libmount(std::string_view given, const LibmountResult& result) {
  if (options_.json) {
    begin_item(given, result.name);
    if (!result.source.empty()) append_json_member(json_ += ", ", "source", result.source);
    append_json_member(json_ += ", ", "result", result.exit_code == 0 ? "unmounted" : "failed");
    json_ += result.helper_ran ? ", \"helper\": true" : ", \"helper\": false";
    if (!result.complaint.empty()) append_json_member(json_ += ", ", "message", result.complaint);
    json_ += "}";
    return;
  }
  if (!result.complaint.empty()) {
    if (!options_.quiet || !result.not_mounted) complain(result.name, result.complaint + ".");
    return;
  }
  if (result.exit_code != 0 || result.helper_ran || !options_.verbose) return;
  std::fprintf(stderr, "umount: %s", result.name.c_str());
  if (!result.source.empty()) std::fprintf(stderr, " (%s)", result.source.c_str());
  std::fputs(" unmounted\n", stderr);
}

void Report::no_such_mount(std::string_view target, bool there) {
  const char* const why = there ? "not mounted" : "not found";
  if (options_.json) {
    begin_item(target, {});
    append_json_member(json_ += ", ", "result", "failed");
    append_json_member(json_ += ", ", "message", why);
    json_ += "}";
    return;
  }
  if (!options_.quiet) complain(target, why);
}

void Report::line(const Line& line, const MountFate& fate) {
  const std::string_view mount_point = line.as_given ? line.given : line.entry->mount_point;
  if (fate.fate == Fate::kFailed && fate.error == EBUSY && fate.blocked_by == nullptr)
    busy_.emplace_back(line.entry->mount_point);
  if (options_.json) {
    begin_item(line.given, line.entry->mount_point);
    append_json_member(json_ += ", ", "source", line.entry->source);
    add_fate(fate);
    return;
  }
  switch (fate.fate) {
    case Fate::kUnmounted:
      if (!options_.verbose) return;
      std::fprintf(stderr, "umount: %.*s", length(mount_point), mount_point.data());
      if (!line.as_given) std::fprintf(stderr, " (%.*s)", length(line.entry->source), line.entry->source.data());
      std::fputs(" unmounted\n", stderr);
      return;
    case Fate::kWentAlong:
      if (options_.verbose && options_.voice == Voice::kUnmoor)
        std::fprintf(stderr, "umount: %.*s had gone when its turn came\n", length(mount_point), mount_point.data());
      return;
    case Fate::kUntried:
      if (options_.voice == Voice::kUnmoor) complain(mount_point, "not tried.");
      return;
    case Fate::kFailed:
      if (options_.quiet && fate.error == EINVAL) return;
      complain(mount_point, why(fate) + ".");
  }
}

bool Report::one_of_all(const kernel::MountEntry& entry, const MountFate& fate, const LibmountResult* by_libmount) {
  // umount(8) finds nothing at the place of a mount that went along with another, and counts that as a failure.
  const bool complaint_of_umount = options_.voice == Voice::kUmount && fate.fate == Fate::kWentAlong;
  const bool gone = (fate.fate == Fate::kUnmounted || fate.fate == Fate::kWentAlong) && !complaint_of_umount;
  if (options_.json) {
    begin_item(entry.mount_point, {});
    append_json_member(json_ += ", ", "source", entry.source);
    add_fate(fate);
    return gone;
  }
  if (gone) {
    if (options_.verbose)
      std::printf("%-25.*s: successfully unmounted\n", length(entry.mount_point), entry.mount_point.data());
  } else if (by_libmount != nullptr) {
    if (!by_libmount->complaint.empty()) complain(by_libmount->name, by_libmount->complaint + ".");
  } else if (fate.fate == Fate::kUntried) {
    complain(entry.mount_point, "not tried.");
  } else {
    const std::string words = complaint_of_umount ? failure_sentence(EINVAL) : why(fate);
    if (!options_.quiet || words != failure_sentence(EINVAL)) complain(entry.mount_point, words + ".");
  }
  return gone;
}

void Report::ignored(const kernel::MountEntry& entry) {
  if (options_.verbose && !options_.json)
    std::printf("%-25.*s: ignored\n", length(entry.mount_point), entry.mount_point.data());
}

void Report::summary(std::size_t went, std::size_t stay) {
  if (options_.json) {
    json_end_ += ",\n  \"unmounted\": " + std::to_string(went) + ",\n  \"stay\": " + std::to_string(stay);
  } else {
    std::fprintf(stderr, "umount: %zu of %zu unmounted, %zu %s\n", went, went + stay, stay,
                 stay == 1 ? "stays" : "stay");
  }
}

void Report::would_stay(const kernel::MountEntry& entry, const MountFate& fate) {
  if (options_.json) {
    begin_item(entry.mount_point, {});
    add_fate(fate);
  } else {
    complain(entry.mount_point, why(fate) + ".");
  }
}

void Report::nothing_begun(std::size_t stay, std::size_t total) {
  if (options_.json) {
    json_end_ += ",\n  \"unmounted\": 0,\n  \"stay\": " + std::to_string(total);
  } else {
    std::fprintf(stderr, "umount: %zu of %zu would stay: nothing was unmounted\n", stay, total);
  }
}

void Report::may_begin() {
  if (options_.verbose && !options_.json)
    std::fputs("umount: nothing found that would stay; what comes into use from now on may still stay\n", stderr);
}

void Report::finish() {
  if (options_.json)
    std::printf("{\n  \"targets\": [%s%s]%s\n}\n", json_.c_str(), json_.empty() ? "" : "\n  ", json_end_.c_str());
}

void Report::add_fate(const MountFate& fate) {
  append_json_member(json_ += ", ", "result", fate_name(fate.fate));
  if (fate.fate == Fate::kFailed) {
    append_json_member(json_ += ", ", "error", strerrorname_np(fate.error));
    append_json_member(json_ += ", ", "message", why(fate));
    if (fate.blocked_by != nullptr) append_json_member(json_ += ", ", "blocked_by", fate.blocked_by->mount_point);
  }
  json_ += "}";
}

void Report::complain(std::string_view mount_point, const std::string& why) {
  std::fprintf(stderr, "umount: %.*s: %s\n", length(mount_point), mount_point.data(), why.c_str());
}

std::string Report::why(const MountFate& fate) const {
  std::string sentence = failure_sentence(fate.error);
  if (options_.voice == Voice::kUmount) return sentence;
  if (fate.covered) return "another mount lies over it";
  if (fate.blocked_by != nullptr) (sentence += ": below it stays ") += fate.blocked_by->mount_point;
  return sentence;
}

}  // namespace unmoor::cli::umount
