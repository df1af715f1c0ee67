// SPDX-License-Identifier: MIT
#include "cli/umount/report.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "cli/umount/json_text.h"
#include "cli/umount/sentences.h"

namespace unmoor::cli::umount {
namespace {

int length(std::string_view text) {
  return static_cast<int>(text.size());
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
    json_ += ", \"result\": \"";
    json_ += options_.fake ? "fake" : options_.lazy ? "detached" : "unmounted";
    json_ += outcome.deferred ? "\", \"deferred\": true" : "\", \"deferred\": false";
    append_json_member(json_ += ", ", "reason", detach::reason_name(outcome.reason));
    json_ += ", \"microseconds\": " + std::to_string(outcome.took.count()) + "}";
    return;
  }
  if (!options_.verbose) return;
  if (source.empty()) {
    std::printf("umount: %.*s unmounted", length(mount_point), mount_point.data());
  } else {
    std::printf("umount: %.*s (%.*s) unmounted", length(mount_point), mount_point.data(), length(source),
                source.data());
  }
  if (options_.voice == Voice::kUnmoor && options_.lazy) {
    const std::string_view reason = detach::reason_text(outcome.reason);
    std::printf(": %.*s", length(reason), reason.data());
  }
  std::putchar('\n');
}

void Report::failed(std::string_view given, std::string_view mount_point, int error) {
  if (options_.json) {
    begin_item(given, mount_point);
    append_json_member(json_ += ", ", "result", "failed");
    append_json_member(json_ += ", ", "error", strerrorname_np(error));
    append_json_member(json_ += ", ", "message", failure_sentence(error));
    json_ += "}";
    return;
  }
  if (options_.quiet && error == EINVAL) return;
  std::fprintf(stderr, "umount: %.*s: %s.\n", length(mount_point), mount_point.data(), failure_sentence(error).c_str());
}

void Report::finish() {
  if (options_.json) std::printf("{\n  \"targets\": [%s%s]\n}\n", json_.c_str(), json_.empty() ? "" : "\n  ");
}

}  // namespace unmoor::cli::umount
