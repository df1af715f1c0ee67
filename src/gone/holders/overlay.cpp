// SPDX-License-Identifier: MIT
// The layers of an overlay, from its options. An overlay clones the mounts of its layers: they can be unmounted, their
// filesystem stays alive.
#include "gone/holders/finders.h"
#include "kernel/procfs_text.h"

namespace unmoor::gone::holders {
namespace {

// Takes one option off `rest`: a comma ends it unless a backslash stands before it.
std::string_view take_option(std::string_view& rest) {
  std::size_t end = 0;
  while (end < rest.size() && rest[end] != ',')
    end += rest[end] == '\\' && end + 1 < rest.size() ? 2 : 1;
  end = std::min(end, rest.size());
  const std::string_view option = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return option;
}

// overlay's own escapes, inside the ones of the mount table.
std::string without_backslashes(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) ++i;
    out += text[i];
  }
  return out;
}

// "a:b\:c": layers separated by colons; "::" stands before data-only layers.
void add_lower_layers(std::string_view value, std::vector<OverlayLayer>& layers) {
  std::size_t begin = 0;
  for (std::size_t at = 0; at <= value.size(); ++at) {
    if (at < value.size() && value[at] == '\\') {
      ++at;
      continue;
    }
    if (at < value.size() && value[at] != ':') continue;
    if (at > begin) layers.push_back({"lowerdir", without_backslashes(value.substr(begin, at - begin))});
    begin = at + 1;
  }
}

}  // namespace

std::vector<OverlayLayer> overlay_layers(std::string_view super_options) {
  std::vector<OverlayLayer> layers;
  const std::string options = kernel::unescape_octal(super_options);
  std::string_view rest = options;
  while (!rest.empty()) {
    std::string_view value = take_option(rest);
    const std::string_view name = kernel::take_until(value, '=');
    if (name == "lowerdir") add_lower_layers(value, layers);
    if (name == "lowerdir+" || name == "datadir+") layers.push_back({"lowerdir", without_backslashes(value)});
    if (name == "upperdir") layers.push_back({"upperdir", without_backslashes(value)});
    if (name == "workdir") layers.push_back({"workdir", without_backslashes(value)});
  }
  return layers;
}

}  // namespace unmoor::gone::holders
