// SPDX-License-Identifier: MIT
#include "cli/who/holders_json.h"

#include <nlohmann/json.hpp>

namespace unmoor::cli {
namespace {

using nlohmann::ordered_json;

std::string device_text(kernel::DeviceNumber device) {
  return std::to_string(device.major) + ":" + std::to_string(device.minor);
}

// Absent facts are absent keys, so that a reader need not know what "empty" means for each.
void add(ordered_json& object, const char* key, const std::string& value) {
  if (!value.empty()) object[key] = value;
}

}  // namespace

ordered_json to_json(const gone::Holder& holder) {
  ordered_json object;
  object["kind"] = name_of(holder.kind);
  object["prevents"] = name_of(holder.prevents);
  object["certain"] = holder.certainty == gone::Certainty::kCertain;
  if (holder.pid > 0) {
    object["pid"] = holder.pid;
    if (holder.tid > 0) object["tid"] = holder.tid;
    object["command"] = holder.command;
    object["uid"] = holder.uid;
    object["user"] = holder.user;
    add(object, "unit", holder.unit);
    add(object, "container", holder.container);
  }
  if (holder.descriptor >= 0) object["descriptor"] = holder.descriptor;
  add(object, "path", holder.path);
  if (holder.deleted) object["deleted"] = true;
  if (holder.mount_id != 0) object["mount_id"] = holder.mount_id;
  if (holder.mount_namespace != 0) object["mount_namespace"] = holder.mount_namespace;
  add(object, "detail", holder.detail);
  add(object, "release", holder.release);
  return object;
}

ordered_json to_json(const gone::Target& target) {
  ordered_json object;
  object["target"] = target.name;
  object["scope"] = target.scope == gone::Scope::kMount ? "mount" : "filesystem";
  object["mounted"] = target.attached;
  add(object, "mount_point", target.mount_point);
  if (target.mount_id != 0) object["mount_id"] = target.mount_id;
  add(object, "type", target.type);
  add(object, "source", target.source);
  if (target.superblock) object["superblock"] = device_text(*target.superblock);
  if (target.block_device) object["device"] = device_text(*target.block_device);
  return object;
}

ordered_json to_json(const gone::Inquiry& inquiry) {
  ordered_json targets = ordered_json::array();
  for (const gone::Answer& answer : inquiry.answers) {
    ordered_json object = to_json(answer.target);
    object["unexplained"] = answer.unexplained;
    object["holders"] = ordered_json::array();
    for (const gone::Holder& holder : answer.holders)
      object["holders"].push_back(to_json(holder));
    targets.push_back(std::move(object));
  }
  return {{"targets", std::move(targets)}, {"notes", inquiry.notes}};
}

std::string to_text(const ordered_json& json) {
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace unmoor::cli
