// SPDX-License-Identifier: MIT
#include "cli/umount/busy_json.h"

#include "cli/umount/json_text.h"

namespace unmoor::cli::umount {
namespace {

class Object {
 public:
  void text(std::string_view name, std::string_view value) {
    if (value.empty()) return;
    separate();
    append_json_member(out_, name, value);
  }
  void raw(std::string_view name, const std::string& value) {
    separate();
    ((out_ += '"') += name) += "\": ";
    out_ += value;
  }
  void flag(std::string_view name, bool value) { raw(name, value ? "true" : "false"); }
  [[nodiscard]] std::string end() { return out_ + "}"; }

 private:
  void separate() { out_ += out_.size() > 1 ? ", " : ""; }
  std::string out_ = "{";
};

std::string holder_json(const gone::Holder& holder) {
  Object object;
  object.text("kind", name_of(holder.kind));
  object.text("prevents", name_of(holder.prevents));
  object.flag("certain", holder.certainty == gone::Certainty::kCertain);
  if (holder.pid > 0) {
    object.raw("pid", std::to_string(holder.pid));
    if (holder.tid > 0) object.raw("tid", std::to_string(holder.tid));
    object.text("command", holder.command);
    object.raw("uid", std::to_string(holder.uid));
    object.text("user", holder.user);
    object.text("unit", holder.unit);
    object.text("container", holder.container);
  }
  if (holder.descriptor >= 0) object.raw("descriptor", std::to_string(holder.descriptor));
  object.text("path", holder.path);
  if (holder.deleted) object.flag("deleted", true);
  if (holder.mount_id != 0) object.raw("mount_id", std::to_string(holder.mount_id));
  if (holder.mount_namespace != 0) object.raw("mount_namespace", std::to_string(holder.mount_namespace));
  object.text("detail", holder.detail);
  object.text("release", holder.release);
  return object.end();
}

// Items one below the other, indented by `depth`.
std::string array(const std::vector<std::string>& items, int depth) {
  const std::string indent(static_cast<std::size_t>(depth), ' ');
  std::string text = "[";
  for (const std::string& item : items) {
    if (text.size() > 1) text += ',';
    ((text += '\n') += indent) += "  ";
    text += item;
  }
  if (!items.empty()) (text += '\n') += indent;
  return text + "]";
}

}  // namespace

std::string busy_json(const gone::Inquiry& inquiry) {
  std::vector<std::string> mounts;
  for (const gone::Answer& answer : inquiry.answers) {
    std::vector<std::string> holders;
    for (const gone::Holder& holder : answer.holders)
      holders.push_back(holder_json(holder));
    Object object;
    object.text("mount_point", answer.target.mount_point);
    object.flag("unexplained", answer.unexplained);
    object.raw("holders", array(holders, 4));
    mounts.push_back(object.end());
  }
  std::vector<std::string> notes;
  for (const std::string& note : inquiry.notes) {
    std::string item;
    append_json_string(item, note);
    notes.push_back(std::move(item));
  }
  return "\"busy\": " + array(mounts, 2) + ",\n  \"notes\": " + array(notes, 2);
}

}  // namespace unmoor::cli::umount
